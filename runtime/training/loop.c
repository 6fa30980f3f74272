/* See loop.h.
 *
 * Each call of the engine requests the steps up to the next event (a metrics line, an evaluation, a checkpoint, the
 * end), but at most about 0.1 seconds of steps. So signals are handled soon, and an engine can run many steps at once.
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
    STEPS_AT_ONCE = 256,
    CHANCE_WINDOWS = 10 /* consecutive windows with an accuracy near chance after which this is reported */
};
static const double SECONDS_AT_ONCE = 0.1;
static const double ABOVE_CHANCE = 0.02; /* least accuracy above guessing that counts as learning */

struct lh_loop {
    lh_training training;
    const lh_spec *spec;
    lh_engine *engine;
    lh_window *window;
    int64_t batches;           /* batches of an epoch; 0: the data is not finite, or only a part of it is used */
    double seconds;            /* time of the window's steps */
    int64_t timed_steps;       /* number of timed steps; fewer than window->steps after a resume */
    double rate;               /* recent steps per second */
    double checkpoint_time;    /* clock at the last checkpoint */
    int64_t last_above_chance; /* step of the last line above chance */
    bool started, logged_once;
    lh_alarm alarm;
    lh_training_view view;
    lh_step_metrics metrics[STEPS_AT_ONCE];
};

static bool is_due(int64_t every, int64_t step) { return every > 0 && step % every == 0; }

static int64_t find_next_multiple(int64_t step, int64_t every, int64_t latest) {
    int64_t next = every > 0 ? (step / every + 1) * every : latest;
    return next < latest ? next : latest;
}

static bool is_kept(const lh_spec *spec, int64_t step) {
    for (int i = 0; i < spec->train.keep_steps_count; i++)
        if (lh_get_kept_step(&spec->train, i) == step) return true;
    return false;
}

/* The next step after which an event is due. */
static int64_t find_next_event(const lh_loop *l) {
    const lh_training *training = &l->training;
    int64_t step = l->engine->step, next = training->steps;
    next = find_next_multiple(step, training->log_every, next);
    next = find_next_multiple(step, training->checkpoint_every, next);
    next = find_next_multiple(step, l->spec->eval.during_every, next);
    for (int i = 0; i < l->spec->train.keep_steps_count; i++) {
        int64_t kept = lh_get_kept_step(&l->spec->train, i);
        if (kept > step && kept < next) next = kept;
    }
    return next;
}

static void show(lh_loop *l, bool logged) {
    lh_training_view *view = &l->view;
    if (l->training.watch == NULL) return;
    view->step = l->engine->step;
    view->steps = l->training.steps;
    view->steps_per_second = l->rate;
    view->logged = logged;
    l->training.watch(l->training.context, view);
}

static void view_window(lh_loop *l) {
    if (l->window->steps > 0) {
        l->view.loss = lh_window_mean(l->window, l->window->loss);
        l->view.accuracy = lh_window_mean(l->window, l->window->accuracy);
    }
}

static lh_status explain_failure(const lh_loop *l, lh_status status, int done, lh_error *error) {
    lh_error first = *error;
    const lh_run *run = l->training.run;
    bool suspect = l->alarm.kind != LH_ALARM_NONE && run->checkpoint_step >= l->alarm.step;
    if (status != LH_ERR_INPUT || l->metrics[done].sums.positions == 0)
        return status; /* without examples there is no training */
    if (run->checkpoint_step < 0)
        return lh_fail(error, status, "%.1200s\n  there is no checkpoint yet\n  hint: a lower --learning-rate",
                       first.text);
    return lh_fail(error, status,
                   "%.1100s\n  the last %scheckpoint is of step %lld: %.700s/checkpoint.safetensors%s\n"
                   "  hint: a lower --learning-rate",
                   first.text, suspect ? "" : "good ", (long long)run->checkpoint_step, run->directory,
                   suspect ? "\n  it was written after the warning of a runaway" : "");
}

/* Warns once that the training may diverge. */
static void warn(lh_loop *l) {
    lh_error warning;
    lh_alarm_write_warning(&l->alarm, l->engine, l->training.run->directory, l->training.run->checkpoint_step,
                           &warning);
    l->view.warning = warning.text;
    show(l, false);
    l->view.warning = NULL;
}

static lh_status run_steps(lh_loop *l, int64_t until, lh_error *error) {
    int64_t remaining = until - l->engine->step, most_steps = (int64_t)(l->rate * SECONDS_AT_ONCE);
    int count = (int)(remaining < STEPS_AT_ONCE ? remaining : STEPS_AT_ONCE), done = 0;
    if (count > most_steps) count = most_steps > 1 ? (int)most_steps : 1;
    if (count < l->engine->unreported_steps) count = l->engine->unreported_steps;
    double before = l->engine->seconds;
    lh_status status = l->engine->ops->step(l->engine, count, l->metrics, &done, error);
    l->seconds += l->engine->seconds - before;
    l->window->seconds += l->engine->seconds - before;
    l->timed_steps += done;
    for (int i = 0; i < done; i++) {
        lh_window_add(l->window, &l->metrics[i]);
        if (l->batches > 0)
            lh_window_add_to_epoch(l->window, &l->metrics[i], l->engine->step - done + 1 + i, l->batches);
    }
    if (status != LH_OK) return explain_failure(l, status, done, error);
    if (l->seconds > 0) l->rate = (double)l->timed_steps / l->seconds;
    if (!l->logged_once) view_window(l);
    for (int i = 0; i < done; i++)
        if (lh_alarm_add(&l->alarm, l->engine->step - done + 1 + i, &l->metrics[i])) warn(l);
    return LH_OK;
}

static void watch_chance(lh_loop *l, double accuracy) {
    int64_t step = l->engine->step;
    if (accuracy > l->spec->task->chance + ABOVE_CHANCE) l->last_above_chance = step;
    bool long_enough = step - l->last_above_chance >= CHANCE_WINDOWS * l->training.log_every;
    l->view.at_chance_since = long_enough ? l->last_above_chance : -1;
}

static lh_status log_window(lh_loop *l, lh_error *error) {
    const lh_run *run = l->training.run;
    double rate = lh_compute_learning_rate(&l->spec->train, run->learning_rate, l->engine->step);
    lh_status status =
        lh_window_log(l->window, run->metrics, l->engine->step, l->spec->format->teacher_forced, rate, l->rate, error);
    view_window(l);
    watch_chance(l, l->view.accuracy);
    l->logged_once = true;
    lh_window_clear(l->window);
    l->seconds = 0;
    l->timed_steps = 0;
    return status;
}

/* The split under which an evaluation during training is reported. */
static const char *split_during(const lh_spec *spec, const lh_eval_result *result) {
    if (result->group != NULL) return lh_set_name[result->group->set];
    const char *split = lh_split_of_length(spec, result->n);
    return strcmp(split, "in_distribution") == 0 ? "validation" : split;
}

/* Computes means by split, in the order of the results; conditions without counted labels are left out. */
static void view_during(lh_loop *l, const lh_eval_result *results, int count) {
    lh_training_view *view = &l->view;
    int counts[LH_MOST_DURING] = {0};
    view->during_count = 0;
    for (int i = 0; i < count; i++) {
        const char *split = split_during(l->spec, &results[i]);
        int index = 0, n = results[i].n;
        if (results[i].counted == 0) continue;
        while (index < view->during_count && strcmp(view->during[index].split, split) != 0) index++;
        lh_during *during = &view->during[index];
        if (index == view->during_count) {
            view->during_count++;
            *during = (lh_during){split, results[i].axis, n, n, 0};
        }
        if (n != LH_NO_VALUE && (n < during->first || during->first == LH_NO_VALUE)) during->first = n;
        if (n != LH_NO_VALUE && n > during->last) during->last = n;
        during->accuracy += results[i].accuracy;
        counts[index]++;
    }
    for (int index = 0; index < view->during_count; index++) view->during[index].accuracy /= counts[index];
}

static void count_line(void *context, const lh_eval_result *result, int done, int count) {
    lh_window *window = context;
    (void)done, (void)count;
    if (!result->taken_over) window->eval_lines++;
}

/* Evaluates the current step; resumed: only conditions that eval.jsonl lacks for it. */
static lh_status evaluate_during(lh_loop *l, bool resumed, lh_error *error) {
    const lh_eval_defaults *eval = &l->spec->eval;
    lh_eval_request request = {
        .lengths = eval->during_lengths,
        .groups = l->spec->corpus != NULL ? &l->spec->corpus->during : NULL,
        .examples = eval->during_examples,
        .teacher_forced = eval->teacher_forced,
        .greedy_examples = LH_GREEDY_DURING,
        .draws = 1,
        .seed = LH_EVAL_SEED,
        .validation = l->spec->corpus == NULL,
        .split = "during",
        .step = l->engine->step,
        .path = l->training.run->evaluations,
        .only_missing = resumed,
        .watch = count_line,
        .context = l->window,
    };
    int count = lh_count_eval_conditions(&request);
    lh_eval_result *results = lh_engine_allocate((size_t)count * sizeof *results, "the evaluation", error);
    if (results == NULL) return LH_ERR_ENVIRONMENT;
    lh_status status = lh_evaluate(l->engine, &request, results, error);
    if (status == LH_OK) view_during(l, results, count);
    free(results);
    return status;
}

static lh_status write_checkpoint(lh_loop *l, bool keep, lh_error *error) {
    l->checkpoint_time = lh_read_clock();
    return lh_run_checkpoint(l->training.run, l->engine, l->window, keep, error);
}

static bool is_checkpoint_due(const lh_loop *l) {
    double minutes = l->training.checkpoint_minutes;
    return is_due(l->training.checkpoint_every, l->engine->step) || l->engine->step == l->training.steps ||
           (minutes > 0 && lh_read_clock() - l->checkpoint_time >= 60.0 * minutes);
}

/* Writes a checkpoint of this step, unless it exists. */
static lh_status secure_step(lh_loop *l, lh_error *error) {
    return l->training.run->checkpoint_step == l->engine->step ? LH_OK : write_checkpoint(l, false, error);
}

/* Handles all events that are due after some steps. A signal ends an evaluation, but not the checkpoint. */
static lh_status handle_steps(lh_loop *l, lh_error *error) {
    int64_t step = l->engine->step;
    bool logged = is_due(l->training.log_every, step), stopped = false;
    lh_status status = LH_OK;
    if (logged) status = log_window(l, error);
    if (status == LH_OK && is_due(l->spec->eval.during_every, step)) {
        status = evaluate_during(l, false, error);
        stopped = status == LH_STOPPED;
    }
    bool kept = is_kept(l->spec, step);
    bool due = is_checkpoint_due(l);
    if (stopped || (status == LH_OK && (kept || due)))
        status = write_checkpoint(l, kept || (due && l->spec->train.keep_all), error);
    if (status == LH_OK) show(l, logged);
    return stopped && status == LH_OK ? LH_STOPPED : status;
}

static bool is_perfect(const lh_loop *l) {
    return l->training.perfect != NULL && is_due(l->training.log_every, l->engine->step) &&
           l->training.perfect(l->training.context, l->engine);
}

/* Evaluates before the first step if that is due; a resumed run finishes an evaluation that a signal interrupted. */
static lh_status start(lh_loop *l, lh_error *error) {
    lh_status status = LH_OK;
    l->started = true;
    if (l->engine->step > 0 && is_due(l->spec->eval.during_every, l->engine->step))
        status = evaluate_during(l, true, error);
    if (status == LH_OK && l->engine->step == 0 && is_kept(l->spec, 0)) status = write_checkpoint(l, true, error);
    if (status == LH_OK && l->training.steps == 0) status = secure_step(l, error);
    return status;
}

lh_status lh_loop_advance(lh_loop *l, bool *done, lh_error *error) {
    lh_status status = l->started ? LH_OK : start(l, error);
    *done = l->engine->step >= l->training.steps;
    if (status != LH_OK || *done) return status;
    if (lh_is_stopped(l->engine) && l->engine->unreported_steps == 0) {
        status = secure_step(l, error);
        return status == LH_OK ? LH_STOPPED : status;
    }
    int64_t before = l->engine->step;
    status = run_steps(l, find_next_event(l), error);
    if (status == LH_OK && l->engine->step == before) return LH_OK; /* the engine waits for other engines */
    if (status == LH_OK) status = handle_steps(l, error);
    *done = l->engine->step >= l->training.steps;
    if (status == LH_OK && is_perfect(l)) {
        *done = true;
        status = secure_step(l, error);
    }
    return status;
}

lh_status lh_loop_open(const lh_training *training, lh_engine *engine, lh_window *window, lh_loop **loop,
                       lh_error *error) {
    lh_loop *l = *loop = lh_engine_allocate(sizeof *l, "the training loop", error);
    if (l == NULL) return LH_ERR_ENVIRONMENT;
    l->training = *training;
    l->spec = engine->spec;
    l->engine = engine;
    l->window = window;
    if (l->spec->corpus != NULL && training->run->overfit == 0)
        l->batches = lh_count_epoch_batches(l->spec->corpus, l->spec->train.batch);
    l->checkpoint_time = lh_read_clock();
    l->last_above_chance = engine->step;
    lh_alarm_open(&l->alarm, l->spec);
    l->view = (lh_training_view){.loss = NAN, .accuracy = NAN, .at_chance_since = -1};
    return LH_OK;
}

void lh_loop_close(lh_loop *l) { free(l); }
