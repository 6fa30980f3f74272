/* Computes the learning rate of a step.
 *
 * The rate of a step is the run's learning rate times a share. In the first `warmup` steps the share is t / warmup at
 * step t, counted from 1. Afterwards it is 1 if the schedule is constant; else it falls from 1 to `final`. At step t it
 * is
 *
 *     linear   1 - (1 - final) x          x = (t - 1 - warmup) / (steps - warmup)
 *     cosine   final + (1 - final) (1 + cos(pi x)) / 2
 *
 * where steps is train.steps of the spec, so that a run may stop early and continue bit for bit. The share would reach
 * `final` at step steps + 1, which is never made, as with PyTorch's LinearLR and CosineAnnealingLR over `steps` steps.
 */
#ifndef LONGHAND_SCHEDULE_H
#define LONGHAND_SCHEDULE_H

#include "longhand/spec.h"
#include "longhand/status.h"

/* The rate of step t, counted from 1, in a run with this learning rate. */
double lh_compute_learning_rate(const lh_train_defaults *train, double learning_rate, int64_t t);

/* Checks that the schedule defines the rates of `steps` steps. LH_ERR_INPUT: steps exceeds the last step of a falling
 * rate, or no step is left after the warm-up. */
lh_status lh_schedule_check(const lh_train_defaults *train, int64_t steps, lh_error *error);

#endif
