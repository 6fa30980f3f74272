/* A model's kernels in the emulation, without the engine: one step or one evaluation, with the engine's memory
 * layout. Unwritten memory is NaN. A failed launch fails the running test. */
#ifndef LH_TESTS_LAUNCH_MODEL_H
#define LH_TESTS_LAUNCH_MODEL_H

#include "longhand/cuda_interface.h"
#include "longhand/spec.h"

/* Allocates zeroed memory on a cache line; for free(). */
void *lh_model_reserve(size_t bytes);

/* The position tables and the random numbers of a shape, or NULL if the model has none; for free(). positions and
 * distances replace random ones of the first stream unless they are NULL. */
void *lh_model_tables(const lh_spec *spec, const lh_shape *shape);
int *lh_model_draws(const lh_spec *spec, const lh_draw *draw, const lh_shape *shape, const int32_t *positions,
                    const int32_t *distances);

/* The division of a step, and the order of threads (emulation.h). In an odd order, products of a wide model are made
 * without their biases, which then have phases of their own. */
typedef struct lh_model_cut {
    int shards, team;
    unsigned order;
} lh_model_cut;

/* The results of the last step: vectors of `bytes` each. Moments (for SGD the running sum) begin as zero; NULL: the
 * optimiser has none. */
typedef struct lh_model_step {
    void *parameters, *moment1, *moment2, *gradient;
    size_t bytes;
    lh_cuda_result result;
} lh_model_step;

lh_model_step lh_model_train(const lh_spec *spec, const void *parameters, const void *tables, const lh_cuda_step *step,
                             lh_model_cut cut);
/* Makes the same step `steps` times in one launch; not for wide models. */
lh_model_step lh_model_train_steps(const lh_spec *spec, const void *parameters, const void *tables,
                                   const lh_cuda_step *step, lh_model_cut cut, int steps);
/* Trains a wide model whose step was started together with the previous one; `before`: the result of that step. */
lh_model_step lh_model_train_behind(const lh_spec *spec, const void *parameters, const void *tables,
                                    const lh_cuda_step *step, lh_model_cut cut, const lh_cuda_result *before);
void lh_model_step_free(lh_model_step *step);

/* Evaluates the examples of `step`, `group` sequences at a time; writes answers [sequences] and real logits
 * [sequences][labels][classes]. */
void lh_model_evaluate(const lh_spec *spec, const void *parameters, const void *tables, const lh_cuda_step *step,
                       int blocks, int group, unsigned order, lh_cuda_answer *answers, void *logits);
/* Evaluates models side by side in one launch, each with its own parameters and step; cut.shards: sequences at a time.
 * The first step has the most sequences, which are the rows of results of each model. One model if the model is
 * wide. */
void lh_model_evaluate_several(const lh_spec *spec, const void *const *parameters, const void *tables,
                               const lh_cuda_step *steps, int models, lh_model_cut cut, lh_cuda_answer *answers,
                               void *logits);

/* Decodes the labels of models side by side that have a mask; classes [models][sequences][labels] and logits, of the
 * requested labels alone. ending: a class that ends sequences, or -1. */
void lh_model_decode(const lh_spec *spec, const void *const *parameters, const void *tables, const lh_cuda_step *steps,
                     int models, lh_model_cut cut, int ending, int *classes, void *logits);

#endif
