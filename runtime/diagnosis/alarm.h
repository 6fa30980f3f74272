/* Detects diverging training from the metrics of each step while all values are still finite. A run may recover, so
 * there is one warning and no error; values that are not finite stop a run (engine/engine.h). */
#ifndef LONGHAND_ALARM_H
#define LONGHAND_ALARM_H

#include "engine/engine.h"

typedef enum lh_alarm_kind {
    LH_ALARM_NONE,
    LH_ALARM_UPDATE, /* the norm of one update exceeds half of the parameters' norm after the update */
    /* After 100 steps: the gradient norm exceeds clip_norm (1 if there is no clip_norm) and is more than 1,000 times
     * the usual norm. */
    LH_ALARM_GRADIENT,
    LH_ALARM_LOSS /* the loss exceeds twice the loss of guessing in 200 consecutive steps */
} lh_alarm_kind;

typedef struct lh_alarm {
    double guess_loss;     /* loss of equally likely classes, nats */
    double min_norm;       /* a smaller gradient norm is no LH_ALARM_GRADIENT */
    int64_t steps;         /* number of steps in usual_log_norm, at most 100 */
    double usual_log_norm; /* running mean over about 100 steps of the logarithm of the gradient norm */
    int64_t bad_losses;    /* number of consecutive steps, up to the last one, with a loss above twice guess_loss */
    /* The first detected alarm: */
    lh_alarm_kind kind;
    int64_t step;            /* step of the alarm */
    lh_step_metrics metrics; /* metrics of the alarm's step */
} lh_alarm;

void lh_alarm_open(lh_alarm *alarm, const lh_spec *spec);

/* Adds the metrics of step number `step`. True the first time that a rule applies. */
bool lh_alarm_add(lh_alarm *alarm, int64_t step, const lh_step_metrics *metrics);

/* Writes the warning: the step, the alarm, the tensors in the chunk with the largest gradient, the largest current
 * parameter, and the last checkpoint in the run's folder `directory` (checkpoint_step -1: none). */
void lh_alarm_write_warning(const lh_alarm *alarm, lh_engine *engine, const char *directory, int64_t checkpoint_step,
                            lh_error *warning);

#endif
