/* Whether a training runs away, judged from the metrics of each step while everything is still finite. A run may recover
 * from it, so this is a warning, given once; what is not finite stops a run (engine/engine.h). */
#ifndef LONGHAND_ALARM_H
#define LONGHAND_ALARM_H

#include "engine/engine.h"

typedef enum lh_alarm_kind {
    LH_ALARM_NONE,
    LH_ALARM_UPDATE,   /* one update is longer than half of what the parameters then measure */
    LH_ALARM_GRADIENT, /* a gradient norm of 1,000 times the usual one, and at least the clipping norm (1 without) */
    LH_ALARM_LOSS      /* 200 steps in a row with more than twice the loss of guessing */
} lh_alarm_kind;

typedef struct lh_alarm {
    double guess_loss;  /* of all classes being equally likely */
    double least_norm;  /* of a gradient worth a warning */
    int64_t steps;      /* whose gradient norms are in usual */
    double usual;       /* logarithm of the gradient norm: a running mean over about 100 steps */
    int64_t bad_losses; /* steps in a row */
    /* The finding. */
    lh_alarm_kind kind;
    int64_t step;
    lh_step_metrics metrics; /* of that step */
} lh_alarm;

void lh_alarm_open(lh_alarm *alarm, const lh_spec *spec);

/* Takes the metrics of the step that made the engine's step `step`. True the first time that a rule holds. */
bool lh_alarm_add(lh_alarm *alarm, int64_t step, const lh_step_metrics *metrics);

/* The warning: step, what was found, the tensors that hold most of that step's gradient, the largest parameter of the
 * engine's present state, and the last checkpoint (checkpoint_step -1: none). */
void lh_alarm_tell(const lh_alarm *alarm, lh_engine *engine, const char *directory, int64_t checkpoint_step,
                   lh_error *warning);

#endif
