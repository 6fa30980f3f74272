/* The stored reference vectors of tests/reference, in the form that the C tests read. README.md there says what they
 * are.
 *
 * Paths are relative to the repository's root, where tests run. A file that is missing or not as described aborts with
 * a message: that is a broken checkout, not a failing test.
 * */
#ifndef LH_REFERENCE_VECTORS_H
#define LH_REFERENCE_VECTORS_H

#include "base/safetensors.h"
#include "support/lh_network.h"

enum { LH_VECTORS_FILES = 28, LH_VECTORS_LENGTHS = 3 };

extern const char *const lh_vectors_name[LH_VECTORS_FILES]; /* "none", "sincos", ... */

/* The file of this name; lh_st_free closes it. */
lh_st_file *lh_vectors_open(const char *name);

/* Facts in the metadata of a file. */
typedef struct lh_vectors_facts {
    int length[LH_VECTORS_LENGTHS]; /* input tokens of its batches */
    int gradient_length;            /* of the batch whose gradients are stored */
    int heads;
    int positions;       /* positions and distances are below it */
    bool drawn, clamped; /* distances are drawn; and read as by Ruoss et al.'s released code */
    bool alibi;          /* its score */
} lh_vectors_facts;

lh_vectors_facts lh_vectors_read_facts(const lh_st_file *file);

/* Reads `count` numbers that the metadata have under a key. */
void lh_vectors_numbers(const lh_st_file *file, const char *key, int count, int *out);

/* The network of a file: that of tests/specs/parity_<name>.lua, of parity_float64_<name>.lua, or of
 * networks/<name>.lua, whichever there is first. */
const lh_ref_network *lh_vectors_network(const char *name);

/* Whether there is generated code of it. Those of tests/specs/networks are compared with kernels/ref alone. */
bool lh_vectors_compiled(const char *name);

/* A network with the file's weights, and with ALiBi's slopes where it learns them; the caller frees it. */
lh_ref_model *lh_vectors_model(const lh_st_file *file, const lh_ref_network *network);

/* distances[query][key], signed, of sequences of T tokens: from drawn[T] where distances are drawn, else of
 * positions[T]. Ruoss et al. 2023. */
void lh_vectors_distances(const lh_vectors_facts *facts, int T, const int32_t *positions, const int32_t *drawn,
                          int32_t *distances);

/* score[heads][pairs] of ALiBi, half a step less to the left. */
void lh_vectors_alibi(int heads, int pairs, const int32_t *distances, double *score);

/* One batch with its results. */
typedef struct lh_vectors_case {
    lh_ref_batch batch; /* dropout off, loss_scale of the mean, backward on */
    double *logits;     /* [sequences][labels][classes] */
    double loss;        /* mean, in nats */
    int input_length;
    uint16_t *input; /* [sequences][input_length], of which `token` is made */
    uint16_t *token, *label;
    uint16_t *place; /* [sequences][labels], or NULL: the last tokens */
    int32_t *positions;
    int32_t *drawn;     /* [tokens] distances, or NULL */
    int32_t *distances; /* [tokens][tokens], or NULL */
    double *score;      /* [heads][tokens][tokens], or NULL */
} lh_vectors_case;

/* The batch with n input tokens; lh_vectors_case_free frees it. */
lh_vectors_case lh_vectors_read_case(const lh_st_file *file, int n);
void lh_vectors_case_free(lh_vectors_case *stored);

/* Elements of a tensor of the file as double; *count of them. The caller frees the array. NULL: no such tensor. */
double *lh_vectors_doubles(const lh_st_file *file, const char *name, int *count);

#endif
