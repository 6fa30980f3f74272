/* The stored reference vectors of tests/reference, as the C tests want them. README.md there says what they are.
 *
 * Paths are relative to the repository's root, where tests run. A file that is missing or not as described aborts
 * with a message: that is a broken checkout, not a failing test.
 */
#ifndef LH_REFERENCE_VECTORS_H
#define LH_REFERENCE_VECTORS_H

#include "base/safetensors.h"
#include "support/lh_network.h"

enum { LH_VECTORS_ENCODINGS = 20, LH_VECTORS_LENGTHS = 3, LH_VECTORS_GRADIENT_LENGTH = 18 };

extern const char *const lh_vectors_encoding[LH_VECTORS_ENCODINGS]; /* "none", "sincos", ... */
extern const int lh_vectors_length[LH_VECTORS_LENGTHS];             /* 1, 5, 18: input tokens */

/* The file of one encoding; lh_st_free closes it. */
lh_st_file *lh_vectors_open(const char *encoding);

/* The network of an encoding, as a test spec has it. */
const lh_ref_network *lh_vectors_network(const char *encoding);

/* A network with the file's weights, and with ALiBi's slopes where it learns them; the caller frees it. */
lh_ref_model *lh_vectors_model(const lh_st_file *file, const lh_ref_network *network);

/* Range of positions and distances where an encoding draws them. */
enum { LH_VECTORS_RANGE = 64 };

bool lh_vectors_draws_distances(const char *encoding);

/* distances[query][key], signed, of sequences of T tokens: from drawn[T] where the encoding draws them, else of
 * positions[T]. Ruoss et al. 2023; "clamped": as its released code reads them. */
void lh_vectors_distances(const char *encoding, int T, const int32_t *positions, const int32_t *drawn,
                          int32_t *distances);

extern const double lh_vectors_slope[2]; /* of ALiBi for two heads */

/* score[2][query][key] of ALiBi for two heads, half a step less to the left. */
void lh_vectors_alibi(int T, const int32_t *distances, double *score);

/* One batch with its results. */
typedef struct lh_vectors_case {
    lh_ref_batch batch; /* dropout off, loss_scale of the mean, backward on */
    double *logits;     /* [sequences][labels][classes] */
    double loss;        /* mean, in nats */
    uint16_t *token, *label;
    int32_t *positions;
    int32_t *drawn;     /* [tokens] distances, or NULL */
    int32_t *distances; /* [tokens][tokens], or NULL */
    double *score;      /* [heads][tokens][tokens], or NULL */
} lh_vectors_case;

/* The batch with n input tokens; lh_vectors_case_free frees it. */
lh_vectors_case lh_vectors_case_of(const lh_st_file *file, int n);
void lh_vectors_case_free(lh_vectors_case *stored);

/* Elements of a tensor of the file as double; *count of them. The caller frees the array. NULL: no such tensor. */
double *lh_vectors_doubles(const lh_st_file *file, const char *name, int *count);

#endif
