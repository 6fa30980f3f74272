/* Runs a model's kernels in the emulation, without the engine: one step or one evaluation, with the engine's memory
 * layout. Memory that a kernel must write is NaN before. A failed launch fails the running test. */
#ifndef LH_TESTS_LAUNCH_MODEL_H
#define LH_TESTS_LAUNCH_MODEL_H

#include "longhand/cuda_interface.h"
#include "longhand/cuda_loops.h"
#include "longhand/spec.h"

/* Allocates zeroed memory on a cache line; for free(). */
void *lh_model_reserve(size_t bytes);

/* Returns the position tables of a shape, or NULL if the model has none; for free(). */
void *lh_model_make_tables(const lh_spec *spec, const lh_shape *shape);

/* Returns lh_cuda_step.draws of a shape: the passes, positions of tokens and random numbers, or NULL if the model has
 * none; for free(). positions and distances replace random ones of the first stream unless they are NULL.
 * token_positions: positions that depend on tokens, [sequences][length] of each stream; NULL: the model has none. */
int *lh_model_make_draws(const lh_spec *spec, lh_cuda_passes passes, const lh_draw *draw, const lh_shape *shape,
                         const int32_t *positions, const int32_t *distances,
                         int32_t *const token_positions[LH_MAX_STREAMS]);

/* The division of a step or an evaluation, and the order of threads (emulation.h). In an odd order, products of a wide
 * model are made without their biases, which then have phases of their own. */
typedef struct lh_model_cut {
    int shards; /* shards of a step; in an evaluation, the number of sequences at a time */
    int team;   /* blocks of a model */
    unsigned order;
} lh_model_cut;

/* The results of a step: vectors of `bytes` each. Moments (for SGD the running sum) are zero before the step;
 * NULL: the optimiser has none. */
typedef struct lh_model_step {
    void *parameters, *moment1, *moment2, *gradient;
    size_t bytes;
    lh_cuda_result result;
} lh_model_step;

/* Makes the same step `count` times in one launch; once for a wide model. earlier: the result of the step that a wide
 * model started before this one; NULL: there is none. */
lh_model_step lh_model_train(const lh_spec *spec, const void *parameters, const void *tables, const lh_cuda_step *step,
                             lh_model_cut cut, int count, const lh_cuda_result *earlier);
void lh_model_step_free(lh_model_step *step);

/* Evaluates the examples of `step` on `blocks` blocks, each of which takes `group` sequences at a time; writes answers
 * [sequences] and logits [sequences][labels][classes] of the spec's element type. */
void lh_model_evaluate(const lh_spec *spec, const void *parameters, const void *tables, const lh_cuda_step *step,
                       int blocks, int group, unsigned order, lh_cuda_loop_answer *answers, void *logits);

/* Evaluates models side by side in one launch, each with its own parameters and step. The first step has the most
 * sequences, and the results of each model have so many rows. A wide model can only be evaluated alone. */
void lh_model_evaluate_several(const lh_spec *spec, const void *const *parameters, const void *tables,
                               const lh_cuda_step *steps, int models, lh_model_cut cut, lh_cuda_loop_answer *answers,
                               void *logits);

/* Decodes the labels whose mask is not 0, for models side by side; writes classes [models][sequences][labels] and
 * logits of these labels, -1 and NaN elsewhere. ending: a class that ends sequences, or -1. */
void lh_model_decode(const lh_spec *spec, const void *const *parameters, const void *tables, const lh_cuda_step *steps,
                     int models, lh_model_cut cut, int ending, int *classes, void *logits);

#endif
