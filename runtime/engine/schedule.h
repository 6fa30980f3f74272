/* The learning rate of a step: the one place that knows it.
 *
 * A run's rate is its learning rate times a share. Over `warmup` first steps the share rises: t / warmup at step t, steps
 * counted from 1. Then it is 1 where the schedule is constant; else it falls from 1 to `final`, at step t
 *
 *     linear   1 - (1 - final) x          x = (t - 1 - warmup) / (steps - warmup)
 *     cosine   final + (1 - final) (1 + cos(pi x)) / 2
 *
 * with the steps of the spec, train.steps: so that a run may stop early and go on to the same bits. Step steps + 1, which
 * is not made, would have `final`; in that these are PyTorch's LinearLR and CosineAnnealingLR over so many steps.
 */
#ifndef LONGHAND_SCHEDULE_H
#define LONGHAND_SCHEDULE_H

#include "longhand/spec.h"
#include "longhand/status.h"

/* The rate of step t, 1 for the first, in a run with this learning rate. */
double lh_learning_rate_at(const lh_train_defaults *train, double learning_rate, int64_t t);

/* Whether a run up to so many steps has a rate for each of them. LH_ERR_INPUT beyond the last step of a rate that falls,
 * or where the warm-up leaves no step to fall. */
lh_status lh_schedule_check(const lh_train_defaults *train, int64_t steps, lh_error *error);

#endif
