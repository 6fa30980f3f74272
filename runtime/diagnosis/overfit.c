/* Finds the cause from the facts, and writes the message; see overfit.h. */
#include "diagnosis/overfit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_text.h"

static const double FULL_ACCURACY = 1.0 - 1e-9; /* an attainable accuracy of at least this value counts as 1 */
static const double NO_GRADIENT = 1e-8;         /* a smaller gradient norm counts as no gradient; Adam's epsilon */
static const double HARDLY_MOVED = 0.01;        /* sum of the norms of all updates, relative to the initial norm */
static const double FAR_AWAY = 10.0;            /* norm of the parameters, relative to the initial norm */
static const double ABOVE_GUESSING = 1.5;       /* loss, relative to the loss of guessing */
static const double STILL_FALLING = 0.98;       /* recent loss, relative to the earlier loss */
static const double DROPOUT_COSTS = 0.1;        /* gain in accuracy with dropout off */
/* Loss, relative to the loss of guessing, at which a model usually answers all examples correctly. */
static const double TARGET_OF_GUESS = 0.1;
static const double LONGEST_FORECAST = 1e9; /* maximum number of steps of a forecast */

lh_overfit_cause lh_overfit_find_cause(const lh_overfit_facts *f) {
    if (f->counted == 0) return LH_OVERFIT_NOTHING_COUNTED;
    if (f->data_attainable < FULL_ACCURACY) return LH_OVERFIT_CONFLICT;
    if (f->windows < 2) return LH_OVERFIT_SHORT;
    if (f->gradient_norm < NO_GRADIENT) return LH_OVERFIT_NO_GRADIENT;
    if (f->update_norm_sum < HARDLY_MOVED * f->start_norm) return LH_OVERFIT_RATE_LOW;
    if (f->recent_loss > ABOVE_GUESSING * f->guess_loss || f->parameter_norm > FAR_AWAY * f->start_norm)
        return LH_OVERFIT_RATE_HIGH;
    if (f->end_attainable < FULL_ACCURACY)
        return f->start_attainable < FULL_ACCURACY ? LH_OVERFIT_INDISTINGUISHABLE : LH_OVERFIT_COLLAPSED;
    /* While the accuracy rises, its recent mean lags behind the current value. */
    double greatest_lag = fmax(f->recent_accuracy - f->earlier_accuracy, 0);
    if (f->accuracy - f->recent_accuracy - greatest_lag > DROPOUT_COSTS) return LH_OVERFIT_DROPOUT;
    if (f->recent_loss < STILL_FALLING * f->earlier_loss) return LH_OVERFIT_FALLING;
    return LH_OVERFIT_UNKNOWN;
}

double lh_overfit_estimate_steps(const lh_overfit_facts *f) {
    double target = TARGET_OF_GUESS * f->guess_loss, steps = (double)f->steps;
    if (f->recent_loss <= target) return 2.0 * steps;
    double steps_needed =
        steps + f->steps_between * log(f->recent_loss / target) / log(f->earlier_loss / f->recent_loss);
    double unit = pow(10.0, floor(log10(steps_needed)) - 1.0);
    return fmin(ceil(steps_needed / unit) * unit, LONGEST_FORECAST);
}

static void put_cause(FILE *out, lh_overfit_cause cause, const lh_overfit_facts *f) {
    switch (cause) {
    case LH_OVERFIT_NOTHING_COUNTED: fprintf(out, "no position of these examples counts towards accuracy"); break;
    case LH_OVERFIT_CONFLICT:
        fprintf(out, "equal inputs have different targets; no model can exceed %.4f", f->data_attainable);
        break;
    case LH_OVERFIT_SHORT:
        fprintf(out, "too few steps to judge: %lld steps, %d lines of metrics", (long long)f->steps, f->windows);
        break;
    case LH_OVERFIT_NO_GRADIENT:
        fprintf(out, "no gradient: the gradient's norm never exceeded %.2g", f->gradient_norm);
        break;
    case LH_OVERFIT_RATE_LOW:
        fprintf(out, "the learning rate is too low: all updates together moved the parameters by %.2g%% of their norm",
                100.0 * f->update_norm_sum / f->start_norm);
        break;
    case LH_OVERFIT_RATE_HIGH:
        fprintf(
            out,
            "the learning rate is too high: the loss is %.3g times the loss of guessing, and the parameters' norm is "
            "%.3g times the initial norm",
            f->recent_loss / f->guess_loss, f->parameter_norm / f->start_norm);
        break;
    case LH_OVERFIT_INDISTINGUISHABLE:
        fprintf(out,
                "the model cannot tell apart positions that need different answers: from the first step on it gives "
                "them the same output, so at most %.4f can be right",
                f->end_attainable);
        break;
    case LH_OVERFIT_COLLAPSED:
        fprintf(out,
                "the learning rate is too high: different inputs now give the same output, so at most %.4f "
                "can be right (1.0000 with the initial parameters)",
                f->end_attainable);
        break;
    case LH_OVERFIT_FALLING:
        fprintf(out, "too few steps: the loss is still falling, from %.4g to %.4g within %.0f steps", f->earlier_loss,
                f->recent_loss, f->steps_between);
        break;
    case LH_OVERFIT_DROPOUT:
        fprintf(
            out,
            "dropout or random positions: with dropout off and fixed positions the accuracy is %.4f, in training it is "
            "%.4f",
            f->accuracy, f->recent_accuracy);
        break;
    case LH_OVERFIT_UNKNOWN: fprintf(out, "none found in the measurements"); break;
    }
}

static void put_rate(FILE *out, double rate) {
    char text[LH_NUMBER_TEXT];
    fprintf(out, "--learning-rate %s", lh_write_shortest(rate, text));
}

static void put_hint(FILE *out, lh_overfit_cause cause, const lh_overfit_run *run, const lh_spec *spec,
                     const lh_overfit_facts *f) {
    double spec_rate = spec->train.learning_rate, rate = run->learning_rate;
    switch (cause) {
    case LH_OVERFIT_NOTHING_COUNTED:
    case LH_OVERFIT_CONFLICT:
        fprintf(out, "check the examples of %s%s: trainer sample --length %d --count %d --text",
                spec->corpus != NULL ? "" : "task ", spec->corpus != NULL ? spec->corpus->train.path : spec->task->kind,
                lh_get_reported_length(spec, run->length), run->examples < 100 ? run->examples : 100);
        break;
    case LH_OVERFIT_SHORT: fprintf(out, "more --steps, or a smaller --log-every"); break;
    case LH_OVERFIT_NO_GRADIENT: fprintf(out, "trainer gradcheck of a build with --set precision=float64"); break;
    case LH_OVERFIT_RATE_LOW: put_rate(out, spec_rate > rate ? spec_rate : 10.0 * rate); break;
    case LH_OVERFIT_RATE_HIGH:
    case LH_OVERFIT_COLLAPSED: put_rate(out, spec_rate < rate ? spec_rate : 0.1 * rate); break;
    case LH_OVERFIT_INDISTINGUISHABLE:
        fprintf(out,
                "an encoding that gives the model the positions of tokens (trainer info shows the current encoding)");
        break;
    case LH_OVERFIT_FALLING:
        fprintf(out, "--steps %.0f, if the loss keeps falling at this rate; or a higher --learning-rate",
                lh_overfit_estimate_steps(f));
        break;
    case LH_OVERFIT_DROPOUT: fprintf(out, "a build with --set model.dropout=0, or more --steps"); break;
    case LH_OVERFIT_UNKNOWN:
        fprintf(out, "more --steps; --overfit 1; a third of this --learning-rate; another --seed; trainer gradcheck of "
                     "a build with --set precision=float64");
        break;
    }
}

static void put_facts(FILE *out, const lh_overfit_facts *f) {
    fprintf(out, "\n  measured: loss %.4g without dropout; loss of guessing %.4g", f->loss, f->guess_loss);
    if (f->windows == 0) return;
    fprintf(out,
            "\n    in training: loss %.4g in the first quarter, %.4g in the last; accuracy %.4f in the last\n"
            "    gradient norm %.3g, clipped in %.0f%% of the steps; parameters' norm %.4g, initially %.4g; "
            "norm of an update: %.2g%% of the parameters' norm",
            f->first_loss, f->recent_loss, f->recent_accuracy, f->recent_gradient_norm, 100.0 * f->clipped,
            f->parameter_norm, f->start_norm, 100.0 * f->update_norm / f->parameter_norm);
}

lh_status lh_overfit_write_message(const lh_overfit_run *run, const lh_spec *spec, const lh_overfit_facts *facts,
                                   lh_error *error) {
    lh_text text;
    lh_overfit_cause cause = lh_overfit_find_cause(facts);
    lh_status status = lh_text_open(&text, error);
    if (status != LH_OK) return status;
    fprintf(text.out,
            "--overfit %d: accuracy %.4f at step %lld; a sound model with enough steps reaches 1\n"
            "  likely cause: ",
            run->examples, facts->accuracy, (long long)facts->steps);
    put_cause(text.out, cause, facts);
    put_facts(text.out, facts);
    fprintf(text.out, "\n  hint: ");
    put_hint(text.out, cause, run, spec, facts);
    status = lh_text_close(&text, error);
    if (status == LH_OK) status = lh_fail(error, LH_ERR_INPUT, "%s", text.text);
    free(text.text);
    return status;
}

lh_status lh_overfit_explain(const lh_overfit_run *run, lh_engine *engine, lh_error *error) {
    lh_overfit_facts facts;
    lh_status status = lh_overfit_measure(run, engine, &facts, error);
    return status == LH_OK ? lh_overfit_write_message(run, engine->spec, &facts, error) : status;
}
