/* Reads the stored reference vectors of models with one stream for C tests. README.md describes the files.
 *
 * Paths are relative to the repository's root, where tests run. If a file is missing, or not as described, functions
 * abort with a message: the checkout is broken.
 */
#ifndef LH_REFERENCE_VECTORS_H
#define LH_REFERENCE_VECTORS_H

#include "base/safetensors.h"
#include "support/lh_network.h"

enum { LH_VECTORS_FILES = 28, LH_VECTORS_LENGTHS = 3 };

extern const char *const lh_vectors_name[LH_VECTORS_FILES]; /* "none", "sincos", ... */

/* Opens the file of this name; lh_st_free closes it. */
lh_st_file *lh_vectors_open(const char *name);

/* Facts in the metadata of a file. */
typedef struct lh_vectors_facts {
    int length[LH_VECTORS_LENGTHS]; /* numbers of input tokens of its batches */
    int gradient_length;            /* that of the batch whose gradients are stored */
    int heads;
    int positions;          /* all positions and distances are below this number */
    bool samples_distances; /* else they are differences of positions */
    bool clamped;           /* distances are sampled, and read as by Ruoss et al.'s released code */
    bool alibi;             /* ALiBi is added to the logits */
} lh_vectors_facts;

lh_vectors_facts lh_vectors_read_facts(const lh_st_file *file);

/* Reads `count` numbers that the metadata have under a key. */
void lh_vectors_read_numbers(const lh_st_file *file, const char *key, int count, int *out);

/* Returns the network of a file: that of tests/specs/parity_<name>.lua, of parity_float64_<name>.lua, or of
 * networks/<name>.lua, whichever exists first. */
const lh_ref_network *lh_vectors_find_network(const char *name);

/* Whether the network has generated code. Networks of tests/specs/networks have none. */
bool lh_vectors_is_compiled(const char *name);

/* Makes a model with the file's weights, and with ALiBi's slopes if the network learns them; for lh_ref_model_free. */
lh_ref_model *lh_vectors_make_model(const lh_st_file *file, const lh_ref_network *network);

/* Writes signed distances [query][key] of sequences of T tokens: from sampled_distances [T] if distances are sampled,
 * else those of positions [T]. Source: Ruoss et al. 2023. */
void lh_vectors_compute_distances(const lh_vectors_facts *facts, int T, const int32_t *positions,
                                  const int32_t *sampled_distances, int32_t *distances);

/* Writes ALiBi's score [heads][pairs]; keys on the left are half a step nearer. */
void lh_vectors_compute_alibi(int heads, int pairs, const int32_t *distances, double *score);

/* One batch with its results. */
typedef struct lh_vectors_case {
    lh_ref_batch
        batch;      /* without dropout, loss_scale of the mean, with the backward pass; points to the arrays below */
    double *logits; /* [sequences][labels][classes] */
    double loss;    /* mean, in nats */
    int input_length;
    uint16_t *input; /* [sequences][input_length], the first tokens of each sequence of `token` */
    uint16_t *token, *label;
    uint16_t *place;            /* [sequences][labels], or NULL: the last tokens */
    int32_t *positions;         /* [tokens] */
    int32_t *sampled_distances; /* [tokens] sampled distances, or NULL */
    int32_t *distances;         /* [tokens][tokens], or NULL */
    double *score;              /* [heads][tokens][tokens], or NULL */
} lh_vectors_case;

/* Reads the batch with n input tokens; lh_vectors_case_free frees it. */
lh_vectors_case lh_vectors_read_case(const lh_st_file *file, int n);
void lh_vectors_case_free(lh_vectors_case *stored);

/* Reads all elements of a tensor, whose number *count becomes; for free(). NULL: the file has no such tensor. */
double *lh_vectors_read_doubles(const lh_st_file *file, const char *name, int *count);

/* ---- parts that pairs.c shares ---- */

/* Prints a message and aborts. */
_Noreturn void lh_vectors_fail(const char *file, const char *problem);

/* Allocates zeros; aborts without memory. */
void *lh_vectors_allocate(size_t count, size_t size);

/* Returns the tensor <group>.n<n>.<name>, or NULL. */
const lh_st_tensor *lh_vectors_find(const lh_st_file *file, const char *group, int n, const char *name);

/* Returns the size of an axis of a tensor, which must have `rank` axes. name: for the message. */
int lh_vectors_get_size(const lh_st_tensor *tensor, const char *name, int rank, int axis);

/* Read the `count` elements of a tensor; for free(). NULL: tensor is NULL. */
double *lh_vectors_read_tensor(const lh_st_file *file, const lh_st_tensor *tensor, int count);
int32_t *lh_vectors_read_integers(const lh_st_file *file, const lh_st_tensor *tensor, int count);
uint16_t *lh_vectors_read_symbols(const lh_st_file *file, const lh_st_tensor *tensor, int count);

/* Copies the elements of the tensor with its name from the file. */
void lh_vectors_load_weight(const lh_st_file *file, lh_ref_tensor *tensor);

#endif
