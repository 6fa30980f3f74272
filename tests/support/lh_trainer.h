/* Generated programs for the CPU on one batch, and their comparison with kernels/ref. A failed comparison fails the
 * running test. */
#ifndef LH_TRAINER_H
#define LH_TRAINER_H

#include "lh_parity.h"

/* Here, a trainer is no executable, but a program of a spec with all buffers of a step in one mode. */
typedef struct lh_trainer {
    const lh_spec *spec;
    const lh_cpu_program *program;
    lh_cpu_step step;
    void *parameters, *tables, *workspace, *gradient;
    const int32_t *positions; /* [sequences][tokens] positions that depend on tokens; NULL: there are none */
    lh_sums sums;
    double uncertainty; /* evaluation: sum of the uncertainty of single sequences; must equal sums.uncertainty */
} lh_trainer;

/* Opens a trainer, which lh_trainer_close frees. distances: sampled distances, if the encoding samples them. */
lh_trainer lh_trainer_open(const lh_spec *spec, const lh_cpu_program *program, const lh_ref_model *model,
                           const lh_ref_batch *batch, const int32_t *distances, lh_mode mode);
void lh_trainer_close(lh_trainer *t);

/* Runs the batch in blocks of at most `max_sequences` sequences. logits [sequences][labels][classes] real, evaluation
 * only. */
void lh_trainer_run(lh_trainer *t, const lh_ref_batch *batch, const uint8_t *mask, int max_sequences, void *logits);

/* The draw of batches whose positions a program samples itself: in training one draw per step, in evaluation the draw
 * with index LH_PARITY_DRAW. */
lh_draw lh_trainer_make_draw(lh_mode mode);

/* Opens a trainer of the spec's first program. positions, distances: given values [stream][token]; NULL for a stream
 * whose values the program samples by lh_trainer_make_draw. */
lh_trainer lh_trainer_open_sampling(const lh_spec *spec, const lh_ref_model *model, const lh_ref_batch *batch,
                                    lh_mode mode, const int32_t *const positions[LH_MAX_STREAMS],
                                    const int32_t *const distances[LH_MAX_STREAMS]);

/* Runs the batch and compares the summed loss, and logits of an evaluation or gradients of a training, with the values
 * of kernels/ref: `loss`, `logits`, and the gradients in the model. */
void lh_trainer_check(lh_trainer *t, const lh_ref_batch *batch, const uint8_t *mask, int max_sequences,
                      const lh_ref_model *model, double loss, const double *logits,
                      const lh_parity_tolerance *tolerance);

/* Compares a program of a random model with kernels/ref on a batch of this size: in evaluation, and in training in
 * blocks of several sizes. */
void lh_trainer_check_size(const lh_parity_case *c, const lh_cpu_program *program, lh_ref_model *model,
                           lh_parity_size size);

/* Makes the comparison of lh_trainer_check_size with this number of passes. If the number is greater than the spec's,
 * only evaluation is compared. */
void lh_trainer_check_passes(const lh_parity_case *c, const lh_cpu_program *program, lh_ref_model *model,
                             lh_parity_size size, int passes);

#endif
