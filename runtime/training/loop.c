/* See loop.h.
 *
 * A call of the engine runs many steps, up to the next event: a metrics line, an evaluation, a checkpoint or the end.
 * The call takes at most about 0.1 seconds, so signals are handled soon.
 */
#include "training/loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "data/datasets/epoch.h"
#include "data/datasets/pick.h"
#include "diagnosis/alarm.h"
#include "engine/schedule.h"
#include "eval/evaluate.h"

enum {
    STEPS_AT_ONCE = 256, /* maximum number of steps of a call of the engine */
    CHANCE_WINDOWS = 10  /* view.at_chance_since reports at least this many windows */
};
static const double SECONDS_AT_ONCE = 0.1; /* approximate limit for the seconds of a call of the engine */
static const double CHANCE_MARGIN = 0.02;  /* accuracies up to chance + CHANCE_MARGIN count as guessing */

struct lh_loop {
    lh_training training;
    const lh_spec *spec;
    lh_engine *engine;
    lh_window *window;
    int64_t batches;           /* batches per epoch; 0: no dataset, or --overfit */
    double seconds;            /* time of the window's steps in this process */
    int64_t timed_steps;       /* number of these steps; fewer than window->steps after a resume */
    double steps_per_second;   /* recent rate */
    double checkpoint_time;    /* clock at the last checkpoint */
    int64_t last_above_chance; /* step of the last metrics line with an accuracy above guessing */
    bool has_started;          /* start_loop has been called */
    bool has_logged;           /* a metrics line was written in this process */
    bool is_best;              /* the current step has the best checkpoint, which is not written yet */
    lh_alarm alarm;
    lh_training_view view;
    lh_step_metrics metrics[STEPS_AT_ONCE];
};

static bool is_due(int64_t interval, int64_t step) { return interval > 0 && step % interval == 0; }

static int64_t find_next_multiple(int64_t step, int64_t interval, int64_t limit) {
    int64_t next = interval > 0 ? (step / interval + 1) * interval : limit;
    return next < limit ? next : limit;
}

/* Whether the checkpoint of a step is kept. */
static bool is_kept(const lh_spec *spec, int64_t step) {
    for (int i = 0; i < spec->train.keep_steps_count; i++)
        if (lh_get_kept_step(&spec->train, i) == step) return true;
    return false;
}

/* The next step with an event, other than a checkpoint by time. */
static int64_t find_next_event(const lh_loop *loop) {
    const lh_training *training = &loop->training;
    int64_t step = loop->engine->step, next = training->steps;
    next = find_next_multiple(step, training->log_every, next);
    next = find_next_multiple(step, training->checkpoint_every, next);
    next = find_next_multiple(step, loop->spec->eval.during_every, next);
    for (int i = 0; i < loop->spec->train.keep_steps_count; i++) {
        int64_t kept_step = lh_get_kept_step(&loop->spec->train, i);
        if (kept_step > step && kept_step < next) next = kept_step;
    }
    return next;
}

/* Calls the progress callback. */
static void call_watch(lh_loop *loop, bool is_logged) {
    lh_training_view *view = &loop->view;
    if (loop->training.watch == NULL) return;
    view->step = loop->engine->step;
    view->steps = loop->training.steps;
    view->steps_per_second = loop->steps_per_second;
    view->is_logged = is_logged;
    loop->training.watch(loop->training.context, view);
}

/* Sets the view's loss and accuracy to the means over the current window. */
static void update_view_means(lh_loop *loop) {
    if (loop->window->steps > 0) {
        loop->view.loss = lh_window_compute_mean(loop->window, loop->window->loss);
        loop->view.accuracy = lh_window_compute_mean(loop->window, loop->window->accuracy);
    }
}

/* A hint on a failed step. The learning rate cannot be the cause before the first update. */
static const char *choose_hint(const lh_loop *loop, const lh_step_metrics *failed) {
    bool has_update = loop->engine->step > 0 || (isfinite(failed->sums.loss) && isfinite(failed->gradient_norm));
    return has_update
               ? "a lower --learning-rate"
               : "the cause is not the learning rate, but a formula, such as encoding.score, or the initial "
                 "values; the\n    gradcheck of a float64 build narrows the cause down (docs/troubleshooting.md)";
}

/* Appends to the error of a failed step a hint and a line about the last checkpoint. failed_index: the step's index in
 * loop->metrics. */
static lh_status explain_failure(const lh_loop *loop, lh_status status, int failed_index, lh_error *error) {
    lh_error first = *error;
    const lh_run *run = loop->training.run;
    const char *hint = choose_hint(loop, &loop->metrics[failed_index]);
    bool is_suspect = loop->alarm.kind != LH_ALARM_NONE && run->checkpoint_step >= loop->alarm.step;
    if (status != LH_ERR_INPUT || loop->metrics[failed_index].sums.positions == 0)
        return status; /* an error of another kind, or the step has no examples */
    if (run->checkpoint_step < 0)
        return lh_fail(error, status, "%.1200s\n  there is no checkpoint yet\n  hint: %s", first.text, hint);
    return lh_fail(error, status,
                   "%.1100s\n  the last %scheckpoint is of step %lld: %.700s/checkpoint.safetensors%s\n"
                   "  hint: %s",
                   first.text, is_suspect ? "" : "good ", (long long)run->checkpoint_step, run->directory,
                   is_suspect ? "\n  it was written after the warning of divergence" : "", hint);
}

/* Warns once that the training may diverge. */
static void write_warning(lh_loop *loop) {
    lh_error warning;
    lh_alarm_write_warning(&loop->alarm, loop->engine, loop->training.run->directory,
                           loop->training.run->checkpoint_step, &warning);
    loop->view.warning = warning.text;
    call_watch(loop, false);
    loop->view.warning = NULL;
}

/* Runs steps up to step `end`, or fewer. */
static lh_status run_steps(lh_loop *loop, int64_t end, lh_error *error) {
    int64_t remaining = end - loop->engine->step, most_steps = (int64_t)(loop->steps_per_second * SECONDS_AT_ONCE);
    int count = (int)(remaining < STEPS_AT_ONCE ? remaining : STEPS_AT_ONCE), steps_done = 0;
    if (count > most_steps) count = most_steps > 1 ? (int)most_steps : 1;
    /* The call requests at least the steps that the engine has already finished. */
    if (count < loop->engine->unreported_steps) count = loop->engine->unreported_steps;
    double seconds_before = loop->engine->seconds;
    lh_status status = loop->engine->ops->step(loop->engine, count, loop->metrics, &steps_done, error);
    loop->seconds += loop->engine->seconds - seconds_before;
    loop->window->seconds += loop->engine->seconds - seconds_before;
    loop->timed_steps += steps_done;
    for (int i = 0; i < steps_done; i++) {
        lh_window_add(loop->window, &loop->metrics[i]);
        if (loop->batches > 0)
            lh_window_add_to_epoch(loop->window, &loop->metrics[i], loop->engine->step - steps_done + 1 + i,
                                   loop->batches);
    }
    if (status != LH_OK) return explain_failure(loop, status, steps_done, error);
    if (loop->seconds > 0) loop->steps_per_second = (double)loop->timed_steps / loop->seconds;
    if (!loop->has_logged) update_view_means(loop);
    for (int i = 0; i < steps_done; i++)
        if (lh_alarm_add(&loop->alarm, loop->engine->step - steps_done + 1 + i, &loop->metrics[i])) write_warning(loop);
    return LH_OK;
}

/* Updates view.at_chance_since. accuracy: the accuracy of the window that ends with this step. */
static void watch_chance(lh_loop *loop, double accuracy) {
    int64_t step = loop->engine->step;
    if (accuracy > loop->spec->task->chance + CHANCE_MARGIN) loop->last_above_chance = step;
    bool is_long_enough = step - loop->last_above_chance >= CHANCE_WINDOWS * loop->training.log_every;
    loop->view.at_chance_since = is_long_enough ? loop->last_above_chance : -1;
}

static lh_status log_window(lh_loop *loop, lh_error *error) {
    const lh_run *run = loop->training.run;
    double learning_rate = lh_compute_learning_rate(&loop->spec->train, run->learning_rate, loop->engine->step);
    lh_status status = lh_window_log(loop->window, run->metrics, loop->engine->step, loop->spec->format->teacher_forced,
                                     learning_rate, loop->steps_per_second, error);
    update_view_means(loop);
    watch_chance(loop, loop->view.accuracy);
    loop->has_logged = true;
    lh_window_clear(loop->window);
    loop->seconds = 0;
    loop->timed_steps = 0;
    return status;
}

/* The split under which an evaluation during training is reported. */
static const char *choose_during_split(const lh_spec *spec, const lh_eval_result *result) {
    if (result->group != NULL) return lh_set_name[result->group->set];
    const char *split = lh_find_split(spec, result->n);
    return strcmp(split, "in_distribution") == 0 ? "validation" : split;
}

/* Sets the view's mean accuracy of each split from the results of an evaluation. Results without a counted label are
 * left out. */
static void update_view_splits(lh_loop *loop, const lh_eval_result *results, int count) {
    lh_training_view *view = &loop->view;
    int counts[LH_MAX_SPLITS] = {0};
    view->split_count = 0;
    for (int i = 0; i < count; i++) {
        const char *split = choose_during_split(loop->spec, &results[i]);
        int index = 0, n = results[i].n;
        if (results[i].counted == 0) continue;
        while (index < view->split_count && strcmp(view->splits[index].split, split) != 0) index++;
        lh_split_accuracy *split_accuracy = &view->splits[index];
        if (index == view->split_count) {
            view->split_count++;
            *split_accuracy = (lh_split_accuracy){.split = split, .axis = results[i].axis, .first = n, .last = n};
        }
        if (n != LH_NO_VALUE && (n < split_accuracy->first || split_accuracy->first == LH_NO_VALUE))
            split_accuracy->first = n;
        if (n != LH_NO_VALUE && n > split_accuracy->last) split_accuracy->last = n;
        split_accuracy->accuracy += results[i].accuracy;
        counts[index]++;
    }
    for (int index = 0; index < view->split_count; index++) view->splits[index].accuracy /= counts[index];
}

static void count_line(void *context, const lh_eval_result *result, int completed, int count) {
    lh_window *window = context;
    (void)completed, (void)count;
    if (!result->was_in_file) window->eval_lines++;
}

/* Evaluates the model of the current step. is_resumed: keeps the results that eval.jsonl already has for this step. */
static lh_status evaluate_during(lh_loop *loop, bool is_resumed, lh_error *error) {
    const lh_eval_defaults *eval = &loop->spec->eval;
    lh_eval_request request = {
        .lengths = eval->during_lengths,
        .groups = loop->spec->corpus != NULL ? &loop->spec->corpus->during : NULL,
        .examples = eval->during_examples,
        .teacher_forced = eval->teacher_forced,
        .greedy_examples = LH_MAX_GREEDY_IN_TRAINING,
        .draws = 1,
        .seed = LH_EVAL_SEED,
        .is_validation = loop->spec->corpus == NULL,
        .split = "during",
        .step = loop->engine->step,
        .path = loop->training.run->evaluations,
        .only_missing = is_resumed,
        .watch = count_line,
        .context = loop->window,
    };
    int count = lh_count_eval_conditions(&request);
    lh_eval_result *results = lh_engine_allocate((size_t)count * sizeof *results, "the evaluation", error);
    if (results == NULL) return LH_ERR_ENVIRONMENT;
    lh_status status = lh_evaluate(loop->engine, &request, results, error);
    if (status == LH_OK) update_view_splits(loop, results, count);
    if (status == LH_OK && loop->spec->train.best != NULL)
        loop->is_best = lh_best_add(&loop->window->best, loop->spec, loop->engine->step, results, count);
    free(results);
    return status;
}

static lh_status write_checkpoint(lh_loop *loop, bool keeps_step, lh_error *error) {
    unsigned copies = (keeps_step ? LH_COPY_STEP : 0) | (loop->is_best ? LH_COPY_BEST : 0);
    loop->checkpoint_time = lh_read_clock();
    loop->is_best = false;
    return lh_run_checkpoint(loop->training.run, loop->engine, loop->window, copies, error);
}

static bool is_checkpoint_due(const lh_loop *loop) {
    double minutes = loop->training.checkpoint_minutes;
    return is_due(loop->training.checkpoint_every, loop->engine->step) || loop->engine->step == loop->training.steps ||
           (minutes > 0 && lh_read_clock() - loop->checkpoint_time >= 60.0 * minutes);
}

static lh_status write_missing_checkpoint(lh_loop *loop, lh_error *error) {
    return loop->training.run->checkpoint_step == loop->engine->step ? LH_OK : write_checkpoint(loop, false, error);
}

/* Handles all events that are due. A signal interrupts an evaluation, but not a checkpoint. */
static lh_status handle_steps(lh_loop *loop, lh_error *error) {
    int64_t step = loop->engine->step;
    bool is_logged = is_due(loop->training.log_every, step), is_stopped = false;
    lh_status status = LH_OK;
    if (is_logged) status = log_window(loop, error);
    if (status == LH_OK && is_due(loop->spec->eval.during_every, step)) {
        status = evaluate_during(loop, false, error);
        is_stopped = status == LH_STOPPED;
    }
    bool keeps_step = is_kept(loop->spec, step);
    bool is_due_now = is_checkpoint_due(loop);
    if (is_stopped || (status == LH_OK && (keeps_step || is_due_now || loop->is_best)))
        status = write_checkpoint(loop, keeps_step || (is_due_now && loop->spec->train.keep_all), error);
    if (status == LH_OK) call_watch(loop, is_logged);
    return is_stopped && status == LH_OK ? LH_STOPPED : status;
}

static bool is_perfect(const lh_loop *loop) {
    return loop->training.is_perfect != NULL && is_due(loop->training.log_every, loop->engine->step) &&
           loop->training.is_perfect(loop->training.context, loop->engine);
}

/* Completes the evaluation and the best checkpoint of a resumed step, if a signal or a kill has interrupted them. At
 * step 0, writes a checkpoint that is due. */
static lh_status start_loop(lh_loop *loop, lh_error *error) {
    lh_status status = LH_OK;
    loop->has_started = true;
    if (loop->engine->step > 0 && is_due(loop->spec->eval.during_every, loop->engine->step)) {
        status = evaluate_during(loop, true, error);
        loop->is_best = loop->is_best || loop->window->best.step == loop->engine->step;
        if (status == LH_OK && loop->is_best) status = write_checkpoint(loop, false, error);
    }
    if (status == LH_OK && loop->engine->step == 0 && is_kept(loop->spec, 0))
        status = write_checkpoint(loop, true, error);
    if (status == LH_OK && loop->training.steps == 0) status = write_missing_checkpoint(loop, error);
    return status;
}

/* Whether training has made all its steps, or has waited long enough for a better score. */
static bool is_at_end(const lh_loop *loop) {
    return loop->engine->step >= loop->training.steps || lh_best_is_exhausted(&loop->window->best, loop->spec);
}

lh_status lh_loop_advance(lh_loop *loop, bool *is_done, lh_error *error) {
    lh_status status = loop->has_started ? LH_OK : start_loop(loop, error);
    *is_done = is_at_end(loop);
    if (status != LH_OK || *is_done) return status;
    if (lh_is_stopped(loop->engine) && loop->engine->unreported_steps == 0) {
        status = write_missing_checkpoint(loop, error);
        return status == LH_OK ? LH_STOPPED : status;
    }
    int64_t step_before = loop->engine->step;
    status = run_steps(loop, find_next_event(loop), error);
    if (status == LH_OK && loop->engine->step == step_before) return LH_OK; /* the engine waits for other engines */
    if (status == LH_OK) status = handle_steps(loop, error);
    *is_done = (status == LH_OK && is_perfect(loop)) || is_at_end(loop);
    if (status == LH_OK && *is_done) status = write_missing_checkpoint(loop, error);
    return status;
}

lh_status lh_loop_open(const lh_training *training, lh_engine *engine, lh_window *window, lh_loop **opened,
                       lh_error *error) {
    lh_loop *loop = *opened = lh_engine_allocate(sizeof *loop, "the training loop", error);
    if (loop == NULL) return LH_ERR_ENVIRONMENT;
    loop->training = *training;
    loop->spec = engine->spec;
    loop->engine = engine;
    loop->window = window;
    if (loop->spec->corpus != NULL && training->run->overfit == 0)
        loop->batches = lh_count_epoch_batches(loop->spec->corpus, loop->spec->train.batch);
    loop->checkpoint_time = lh_read_clock();
    loop->last_above_chance = engine->step;
    lh_alarm_open(&loop->alarm, loop->spec);
    loop->view = (lh_training_view){.loss = NAN, .accuracy = NAN, .at_chance_since = -1};
    return LH_OK;
}

void lh_loop_close(lh_loop *loop) { free(loop); }
