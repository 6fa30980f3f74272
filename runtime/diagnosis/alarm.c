/* See alarm.h. */
#include "diagnosis/alarm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/diagnose.h"

static const double UPDATE_SHARE = 0.5;    /* norm of an update, relative to the parameters' norm */
static const double GRADIENT_RATIO = 1000; /* gradient norm, relative to the usual gradient norm */
static const double LOSS_RATIO = 2;        /* loss, relative to the loss of guessing */
enum {
    USUAL_STEPS = 100, /* steps of the running mean of gradient norms */
    LOSS_STEPS = 200   /* consecutive steps with a loss that is too large */
};

void lh_alarm_open(lh_alarm *alarm, const lh_spec *spec) {
    *alarm = (lh_alarm){
        .guess_loss = log((double)spec->classes),
        .min_norm = spec->optimizer.clip_norm > 0 ? spec->optimizer.clip_norm : 1.0,
    };
}

/* Updates the running mean of logarithms, on which a single extreme step has little effect. */
static void update_usual_norm(lh_alarm *alarm, double norm) {
    if (!(norm > 0)) return;
    if (alarm->steps < USUAL_STEPS) alarm->steps++;
    alarm->usual_log_norm += (log(norm) - alarm->usual_log_norm) / (double)alarm->steps;
}

/* The rule that applies to a step; LH_ALARM_NONE: no rule applies. */
static lh_alarm_kind find_alarm_kind(const lh_alarm *alarm, const lh_step_metrics *metrics) {
    double norm = metrics->gradient_norm;
    if (metrics->update_norm > UPDATE_SHARE * metrics->parameter_norm) return LH_ALARM_UPDATE;
    if (alarm->steps == USUAL_STEPS && norm >= alarm->min_norm && norm > GRADIENT_RATIO * exp(alarm->usual_log_norm))
        return LH_ALARM_GRADIENT;
    return alarm->bad_losses >= LOSS_STEPS ? LH_ALARM_LOSS : LH_ALARM_NONE;
}

bool lh_alarm_add(lh_alarm *alarm, int64_t step, const lh_step_metrics *metrics) {
    if (alarm->kind != LH_ALARM_NONE || metrics->sums.positions == 0)
        return false; /* the alarm was given, or no label is in the loss and there is no gradient */
    double loss = lh_compute_mean_loss(&metrics->sums);
    alarm->bad_losses = loss > LOSS_RATIO * alarm->guess_loss ? alarm->bad_losses + 1 : 0;
    alarm->kind = find_alarm_kind(alarm, metrics);
    if (alarm->kind != LH_ALARM_NONE) {
        alarm->step = step;
        alarm->metrics = *metrics;
        return true;
    }
    update_usual_norm(alarm, metrics->gradient_norm);
    return false;
}

/* Writes the measurement that caused the alarm. */
static void put_finding(const lh_alarm *alarm, char *text, size_t size) {
    const lh_step_metrics *m = &alarm->metrics;
    if (alarm->kind == LH_ALARM_UPDATE)
        snprintf(text, size, "the norm of the update is %.3g, and the norm of the updated parameters is %.3g",
                 m->update_norm, m->parameter_norm);
    else if (alarm->kind == LH_ALARM_GRADIENT)
        snprintf(text, size, "the gradient's norm is %.3g; usually it is %.3g", m->gradient_norm,
                 exp(alarm->usual_log_norm));
    else
        snprintf(text, size,
                 "the loss is %.3g; for %d steps it was more than twice the loss of guessing, which is %.3g",
                 lh_compute_mean_loss(&m->sums), LOSS_STEPS, alarm->guess_loss);
}

/* Writes the largest current parameter; empty if the parameters cannot be read. */
static void put_largest_parameter(lh_engine *engine, char *text, size_t size) {
    lh_state state;
    lh_error ignored;
    text[0] = 0;
    if (lh_state_open(&state, engine, false, NULL) != LH_OK) return;
    bool has_state = engine->ops->read_state(engine, &state, &ignored) == LH_OK;
    lh_vector_facts facts = lh_diagnose_vector(engine->spec, state.real_bytes, state.parameters);
    if (has_state && facts.largest_tensor >= 0)
        snprintf(text, size, "\n  at step %lld the largest parameter by magnitude is %.3g in %s",
                 (long long)engine->step, facts.magnitude, engine->spec->tensors[facts.largest_tensor].name);
    lh_state_close(&state);
}

void lh_alarm_write_warning(const lh_alarm *alarm, lh_engine *engine, const char *directory, int64_t checkpoint_step,
                            lh_error *warning) {
    char finding[200], gradient[400], parameter[400];
    put_finding(alarm, finding, sizeof finding);
    put_largest_parameter(engine, parameter, sizeof parameter);
    lh_diagnose_chunk(engine->spec, alarm->metrics.heavy_chunk, gradient, sizeof gradient);
    lh_fail(warning, LH_OK,
            "step %lld: the training may be diverging: %s (task length %d)\n"
            "  %.0f%% of the squared norm of this step's gradient comes from %s%s",
            (long long)alarm->step, finding, alarm->metrics.length, 100.0 * alarm->metrics.heavy_share, gradient,
            parameter);
    size_t used = strlen(warning->text), size = sizeof warning->text;
    if (checkpoint_step >= 0)
        snprintf(warning->text + used, size - used,
                 "\n  the last checkpoint is of step %lld: %.700s/checkpoint.safetensors", (long long)checkpoint_step,
                 directory);
    else snprintf(warning->text + used, size - used, "\n  there is no checkpoint yet");
    used = strlen(warning->text);
    snprintf(warning->text + used, size - used, "\n  training continues; hint: a lower --learning-rate");
}
