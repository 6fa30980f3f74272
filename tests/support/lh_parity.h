/* Generated models with the weights of the stored vectors (tests/reference), and their expected results by
 * kernels/ref. For the tests of generated code, on the CPU (tests/unit/test_parity.c) and in device code
 * (tests/emulation/test_reference.c).
 *
 * Arrays of `real` have real_bytes per element, 4 or 8. A failed comparison fails the running test.
 */
#ifndef LH_PARITY_H
#define LH_PARITY_H

#include "longhand/cpu.h"
#include "longhand/spec.h"
#include "reference/vectors.h"

typedef struct lh_parity_case {
    const char *vectors; /* name of the stored vectors */
    const lh_spec *spec;
} lh_parity_case;

/* Largest allowed errors of an element, relative to the largest element of its tensor. In a gradient terms may cancel,
 * so the tensor's largest element counts as at least 1/100 of the model's largest element. If the tensor has only one
 * element, whose gradient may be a sum over all pairs of all heads, that element counts as at least 1/30. */
typedef struct lh_parity_tolerance {
    double logits, loss, gradient;
} lh_parity_tolerance;

const lh_parity_tolerance *lh_parity_get_tolerance(int real_bytes);

/* Tolerance for random networks in float64, whose sums may grow if they have no norms. */
extern const lh_parity_tolerance lh_parity_random_tolerance;

/* Checks, for every program of the spec that this processor supports, that it needs as much memory as the plan states.
 */
void lh_parity_check_memory(const lh_spec *spec);

/* Allocates zeroed memory on a cache line, as the engine does; the caller frees it. */
void *lh_parity_reserve(size_t bytes);

void lh_parity_write(void *array, int real_bytes, size_t i, double value);
double *lh_parity_to_doubles(const void *array, int real_bytes, size_t count); /* the caller frees it */
double lh_parity_find_largest(size_t count, const double *x);                  /* largest absolute value */

/* Whether the spec has a tensor of learned slopes, which the stored model lacks. */
bool lh_parity_learns_slopes(const lh_spec *spec);

/* Makes a model of the case's network with the stored weights; the caller frees it. file: the case's vectors. */
lh_ref_model *lh_parity_make_model(const lh_st_file *file, const lh_parity_case *c);

/* Makes the same model, but opens and closes the file of vectors itself. */
lh_ref_model *lh_parity_open_model(const lh_parity_case *c);

/* Makes a model of a random spec's network with random weights; the caller frees it. */
lh_ref_model *lh_parity_make_random_model(const lh_spec *spec);

/* Makes the case of a random spec. Of its stored vectors, only the lh_vectors_facts are used. */
lh_parity_case lh_parity_make_random_case(const lh_spec *spec);

/* Writes the model's weights to the spec's vector of parameters. */
void lh_parity_write_parameters(const lh_spec *spec, int real_bytes, const lh_ref_model *model, void *parameters);

/* Sets geometric attention's offset in all layers to the extreme value with index `limit`. */
enum { LH_PARITY_LIMITS = 5 };
void lh_parity_set_limit(lh_ref_model *model, int limit);

/* Replaces the reference's own gradients by the stored gradients; NAN if the stored model lacks the tensor. */
void lh_parity_load_gradients(const lh_st_file *file, lh_ref_model *model);

/* Asserts that a vector of gradients equals the model's gradients within `tolerance`, and is 0 between the tensors. */
void lh_parity_check_gradients(const lh_spec *spec, int real_bytes, const void *gradient, const lh_ref_model *model,
                               double tolerance);

/* Asserts that values, such as logits, equal the expected values within `tolerance`. */
void lh_parity_check_values(int real_bytes, const void *values, const double *expected, size_t count, double tolerance);

/* Counts from the logits and the mask. */
typedef struct lh_parity_counts {
    int64_t positions, counted, correct, sequences, exact; /* see lh_sums */
} lh_parity_counts;

lh_parity_counts lh_parity_count(const lh_ref_batch *batch, const lh_spec *spec, const double *logits,
                                 const uint8_t *mask);

/* Returns the sum of -log(greatest probability of the label's classes) over the labels that are part of the loss. */
double lh_parity_sum_uncertainty(const lh_ref_batch *batch, const lh_spec *spec, const double *logits,
                                 const uint8_t *mask);

/* Sizes of the batches that tests make in addition to the stored batches. */
enum {
    LH_PARITY_SEQUENCES = 5,
    LH_PARITY_LONGEST = 37, /* tokens */
    LH_PARITY_HEADS = 2,
    LH_PARITY_DRAW = 3, /* index of the draw of evaluations */
    LH_PARITY_PAIRS = LH_PARITY_LONGEST * LH_PARITY_LONGEST,
    LH_PARITY_FAMILIES = 24 /* at least lh_ref_network.family_count */
};

/* Sizes of a batch. target: tokens of the second stream, if the spec has one. */
typedef struct lh_parity_size {
    int tokens, labels, target;
} lh_parity_size;

typedef struct lh_parity_batch {
    lh_ref_batch batch; /* points into the other fields */
    uint16_t token[LH_PARITY_SEQUENCES * LH_PARITY_LONGEST], target[LH_PARITY_SEQUENCES * LH_PARITY_LONGEST];
    uint16_t label[LH_PARITY_SEQUENCES * LH_PARITY_LONGEST], place[LH_PARITY_SEQUENCES * LH_PARITY_LONGEST];
    uint8_t mask[LH_PARITY_SEQUENCES * LH_PARITY_LONGEST];
    int32_t positions[LH_PARITY_LONGEST];
    int32_t sampled_distances[LH_PARITY_LONGEST]; /* sampled_distances[k]: distance of tokens k apart */
    int32_t distances[LH_PARITY_PAIRS];           /* [query][key] distances of one stream */
    /* score: by the streams of queries and keys. scores: for each family, the part of `score` for its streams. */
    double score[LH_MAX_STREAMS][LH_MAX_STREAMS][LH_PARITY_HEADS * LH_PARITY_PAIRS];
    const double *scores[LH_PARITY_FAMILIES];
    double score_gradient[LH_PARITY_HEADS * LH_PARITY_PAIRS];
} lh_parity_batch;

/* Makes a batch of random tokens and labels, since the network does not know the task. Positions and distances ascend,
 * with gaps if the spec samples them; with two streams, positions are the tokens' indices. The batch has the dropout of
 * training and a backward pass. first_example: index of its first example. */
void lh_parity_make_batch(const lh_parity_case *c, lh_parity_size size, uint32_t first_example, lh_parity_batch *out);

/* Changes a batch to a batch of an evaluation of the spec. */
void lh_parity_make_evaluation(const lh_spec *spec, lh_ref_batch *batch);

/* Runs kernels/ref on a batch: returns the summed loss; writes logits [sequences][labels][classes] and gradients. */
double lh_parity_run(lh_ref_model *model, lh_parity_batch *data, double *logits);

/* Runs kernels/ref sequence by sequence, each with its own row of positions [sequences][stride]: returns the summed
 * loss; writes logits [sequences][labels][classes], and the sum of the gradients. */
double lh_parity_run_each(lh_ref_model *model, const lh_ref_batch *batch, int32_t *positions, int stride,
                          double *logits, int classes);

/* The mask of a batch whose labels all count. */
extern const uint8_t lh_parity_full_mask[256];

#endif
