/* A model's kernels under the emulation, without the engine: one step or one evaluation, with memory as the engine lays
 * it out. Room that nothing has been written to is NaN. A launch that fails, fails the running test. */
#ifndef LH_TESTS_LAUNCH_MODEL_H
#define LH_TESTS_LAUNCH_MODEL_H

#include "longhand/cuda_interface.h"
#include "longhand/spec.h"

/* Zeroed and on a cache line; for free. */
void *lh_model_reserve(size_t bytes);

/* The position tables and the drawn numbers of a shape, or NULL where the model has none; for free. positions, distances,
 * of the first stream: in place of every draw; NULL: they are drawn. */
void *lh_model_tables(const lh_spec *spec, const lh_shape *shape);
int *lh_model_draws(const lh_spec *spec, const lh_draw *draw, const lh_shape *shape, const int32_t *positions,
                    const int32_t *distances);

/* How a step is cut, and the order of threads (emulation.h). Where that is odd, products of a wide model are made
 * without their biases, which have phases of their own then. */
typedef struct lh_model_cut {
    int shards, team;
    unsigned order;
} lh_model_cut;

/* Results of a step: vectors of `bytes` each. Moments (SGD: its running sum) begin as zero; NULL: the optimiser has
 * none. */
typedef struct lh_model_step {
    void *parameters, *moment1, *moment2, *gradient;
    size_t bytes;
    lh_cuda_result result;
} lh_model_step;

lh_model_step lh_model_train(const lh_spec *spec, const void *parameters, const void *tables, const lh_cuda_step *step,
                             lh_model_cut cut);
/* Trains a wide model whose step was started together with the step before; `before` is that step's result. */
lh_model_step lh_model_train_behind(const lh_spec *spec, const void *parameters, const void *tables,
                                    const lh_cuda_step *step, lh_model_cut cut, const lh_cuda_result *before);
void lh_model_step_free(lh_model_step *step);

/* Evaluates step's examples, `group` sequences at a time. answers [sequences], logits [sequences][labels][classes] real
 * are written. */
void lh_model_evaluate(const lh_spec *spec, const void *parameters, const void *tables, const lh_cuda_step *step,
                       int blocks, int group, unsigned order, lh_cuda_answer *answers, void *logits);

#endif
