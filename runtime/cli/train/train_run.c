/* See train_run.h. */
#include "cli/train/train_run.h"

#include <stdlib.h>
#include <string.h>

#include "cli/train/train_screen.h"
#include "diagnosis/overfit.h"
#include "eval/eval_data.h"
#include "training/run_facts.h"

/* Time for which a thread trains one run before it may change to another. It is long, since the caches are cold after
 * each change. */
static const double SECONDS_AT_ONCE = 0.5;

static lh_run_start make_start(const lh_train_flags *flags) {
    if (flags->overfit > 0) return LH_RUN_OVERWRITE;
    return flags->resume ? LH_RUN_RESUME : flags->overwrite ? LH_RUN_OVERWRITE : LH_RUN_FRESH;
}

lh_engine_config lh_train_run_make_config(const lh_train_run *train_run) {
    return (lh_engine_config){
        .spec = train_run->spec,
        .seed = train_run->run.seed,
        .separate_seeds = train_run->run.separate_seeds,
        .learning_rate = train_run->run.learning_rate,
        .trains = true,
        .fixed_length = train_run->flags->overfit > 0 ? lh_overfit_get_length(train_run->spec) : 0,
        .distinct_examples = (int)train_run->flags->overfit,
    };
}

lh_status lh_train_run_claim(lh_train_run *train_run, lh_error *error) {
    lh_status status = lh_run_claim(&train_run->run, make_start(train_run->flags), error);
    train_run->is_claimed = status == LH_OK;
    if (train_run->is_claimed && !train_run->run.is_exclusive) lh_warn_unlocked(train_run->run.directory);
    return status;
}

lh_status lh_train_run_open(lh_train_run *train_run, lh_error *error) {
    lh_status status = LH_OK;
    if (train_run->flags->overfit > 0) {
        int n = lh_overfit_get_length(train_run->spec);
        lh_lengths lengths = {.first = n, .last = n};
        status = train_run->engine->ops->reserve(train_run->engine, &lengths, (int)train_run->flags->overfit, error);
    }
    if (status != LH_OK) return status;
    train_run->engine->stop = train_run->stop;
    train_run->run.engine = train_run->engine;
    return train_run->is_claimed ? LH_OK : lh_train_run_claim(train_run, error);
}

static lh_overfit_run make_overfit_run(const lh_train_run *train_run) {
    return (lh_overfit_run){
        .examples = (int)train_run->flags->overfit,
        .length = lh_overfit_get_length(train_run->spec),
        .seed = train_run->run.seed,
        .separate_seeds = train_run->run.separate_seeds,
        .learning_rate = train_run->run.learning_rate,
        .metrics = train_run->run.metrics,
        .init = train_run->flags->init,
    };
}

/* With --overfit K: whether the model, without dropout, answers all K examples correctly. */
static bool is_perfect(void *context, lh_engine *engine) {
    lh_overfit_run run = make_overfit_run(context);
    lh_sums sums;
    lh_error ignored; /* the next step reports a failed device */
    return lh_overfit_evaluate(&run, engine, &sums, &ignored) == LH_OK && sums.counted > 0 &&
           sums.correct == sums.counted;
}

/* Whether a claimed run resumes a checkpoint. */
static bool resumes(const lh_train_run *train_run) {
    return make_start(train_run->flags) == LH_RUN_RESUME && lh_run_has_checkpoint(&train_run->run);
}

lh_status lh_train_runs_load_init(lh_train_run *train_runs, int count, lh_error *error) {
    const lh_train_flags *flags = train_runs[0].flags;
    const lh_spec *spec = train_runs[0].spec;
    lh_state state;
    bool is_needed = false;
    for (int i = 0; i < count; i++) is_needed = is_needed || !resumes(&train_runs[i]);
    if (flags->init == NULL || !is_needed) return LH_OK;
    lh_status status = lh_state_open(&state, train_runs[0].engine, true, error);
    if (status != LH_OK) return status;
    status = lh_checkpoint_read_init(flags->init, spec, state.real_bytes, state.parameters, error);
    for (int i = 0; status == LH_OK && i < count; i++)
        if (!resumes(&train_runs[i]))
            status = train_runs[i].engine->ops->write_state(train_runs[i].engine, &state, 0, error);
    lh_state_close(&state);
    return status;
}

/* Loads the checkpoint of a resumed run, and prints notes about it. */
static lh_status load_state(lh_train_run *train_run, lh_error *error) {
    bool is_found = false;
    lh_error note = {""};
    lh_status status = LH_OK;
    if (make_start(train_run->flags) == LH_RUN_RESUME)
        status = lh_run_resume(&train_run->run, train_run->engine, &train_run->window, &is_found, &note, error);
    if (status == LH_OK && note.text[0] != 0)
        lh_screen_print_note(train_run->screen, train_run, "warning: %s", note.text);
    if (status == LH_OK && is_found)
        lh_screen_print_note(train_run->screen, train_run, "resuming at step %lld", (long long)train_run->engine->step);
    train_run->first_step = train_run->last_step = train_run->engine->step;
    return status;
}

/* If train.patience has ended a run and another number of steps is requested now, lets the run continue: sets its
 * number of evaluations without a better score to 0. */
static lh_status renew_patience(lh_train_run *train_run, lh_error *error) {
    lh_window *window = &train_run->window;
    lh_recorded_end ending;
    if (!lh_best_is_exhausted(&window->best, train_run->spec)) return LH_OK;
    lh_status status = lh_run_read_recorded_end(&train_run->run, &ending, error);
    if (status != LH_OK || ending.exit_code < 0 || ending.requested_step == train_run->flags->steps) return status;
    window->best.waited_evaluations = 0;
    return lh_window_save(window, train_run->run.windows, train_run->engine->step, error);
}

static lh_status open_loop(lh_train_run *train_run, lh_error *error) {
    lh_training training = {
        .run = &train_run->run,
        .steps = train_run->flags->steps,
        .log_every = train_run->flags->log_every,
        .checkpoint_every = train_run->flags->checkpoint_every,
        .checkpoint_minutes = train_run->spec->train.checkpoint_minutes,
        .watch = lh_screen_update,
        .is_perfect = train_run->flags->overfit > 0 ? is_perfect : NULL,
        .context = train_run,
    };
    train_run->run.steps = train_run->flags->steps;
    lh_status status = load_state(train_run, error);
    if (status == LH_OK) status = renew_patience(train_run, error);
    if (status == LH_OK) status = lh_run_begin(&train_run->run, make_start(train_run->flags), error);
    train_run->is_begun = status == LH_OK;
    if (status == LH_OK) lh_screen_show_start(train_run->screen, train_run);
    return status == LH_OK ? lh_loop_open(&training, train_run->engine, &train_run->window, &train_run->loop, error)
                           : status;
}

static lh_status check_overfit(lh_train_run *train_run, lh_error *error) {
    if (is_perfect(train_run, train_run->engine)) return LH_OK;
    if (lh_is_stopped(train_run->engine)) return LH_STOPPED;
    lh_overfit_run run = make_overfit_run(train_run);
    return lh_overfit_explain(&run, train_run->engine, error);
}

/* The request for the evaluation after the last step. */
static lh_eval_request make_evaluation_request(const lh_train_run *train_run, int64_t step) {
    const lh_eval_defaults *eval = &train_run->spec->eval;
    return (lh_eval_request){
        .lengths = eval->lengths,
        .groups = train_run->spec->corpus != NULL ? &train_run->spec->corpus->final : NULL,
        .noise = eval->noise,
        .passes = eval->passes,
        .examples = eval->examples,
        .batch = eval->batch,
        .draws = eval->draws,
        .teacher_forced = eval->teacher_forced,
        .has_places = eval->places,
        .seed = LH_EVAL_SEED,
        .step = step,
        .path = train_run->run.evaluations,
        .only_missing = true,
        .watch = lh_screen_update_evaluation,
    };
}

/* The request for the evaluation of a sampled task on the validation stream, which comes before the evaluation by
 * length. It has no noise, and the passes are those of training. */
static lh_eval_request make_validation_request(const lh_train_run *train_run, int64_t step) {
    lh_eval_request request = make_evaluation_request(train_run, step);
    request.is_validation = true;
    request.lengths = train_run->spec->eval.validation_lengths;
    request.noise = (lh_noise){0, NULL};
    request.passes = (lh_lengths){0};
    request.examples = train_run->spec->eval.validation_examples;
    return request;
}

static bool validates(const lh_train_run *train_run) {
    return train_run->spec->corpus == NULL && train_run->spec->eval.validation_examples > 0;
}

static bool is_evaluated(const lh_train_run *train_run) {
    lh_eval_request request = make_evaluation_request(train_run, 0);
    return !train_run->flags->no_eval && train_run->flags->overfit == 0 && lh_count_eval_conditions(&request) > 0;
}

lh_status lh_train_run_is_finished(const lh_train_run *train_run, bool *is_finished, lh_error *error) {
    lh_eval_request request = make_evaluation_request(train_run, train_run->flags->steps);
    lh_recorded_end ending;
    lh_status status = lh_run_read_recorded_end(&train_run->run, &ending, error);
    bool has_more_steps =
        ending.step > train_run->flags->steps && (ending.exit_code == LH_OK || ending.exit_code == LH_STOPPED);
    *is_finished = has_more_steps || (ending.exit_code == LH_OK && ending.requested_step == train_run->flags->steps);
    request.step = ending.step;
    if (status != LH_OK || !*is_finished || has_more_steps || !is_evaluated(train_run)) return status;
    *is_finished = lh_recorded_data_matches_spec(train_run->run.evaluations, train_run->spec);
    if (!*is_finished) return LH_OK;
    return lh_evaluation_is_complete(train_run->spec, &request, is_finished, error);
}

/* Evaluates the engine's parameters, first on the validation stream, if the spec requests this, and then on all
 * conditions of the final evaluation. step: the step of the parameters; *out: the results, unchanged after an error. */
static lh_status evaluate(lh_train_run *train_run, int64_t step, lh_eval_result **out, lh_error *error) {
    lh_eval_request validation = make_validation_request(train_run, step),
                    request = make_evaluation_request(train_run, step);
    int first = validates(train_run) ? lh_count_eval_conditions(&validation) : 0;
    train_run->conditions = first + lh_count_eval_conditions(&request);
    train_run->finished_validations = 0;
    lh_eval_result *results =
        lh_engine_allocate((size_t)train_run->conditions * sizeof *results, "the evaluation", error);
    if (results == NULL) return LH_ERR_ENVIRONMENT;
    validation.context = request.context = train_run;
    lh_screen_show_evaluation(train_run->screen, train_run);
    lh_status status = LH_OK;
    if (first > 0) status = lh_evaluate(train_run->engine, &validation, results, error);
    train_run->finished_validations = first;
    if (status == LH_OK) status = lh_evaluate(train_run->engine, &request, results + first, error);
    if (status == LH_OK) *out = results;
    else free(results);
    return status;
}

/* Loads the parameters of the best checkpoint into the engine, without a change of the engine's step. */
static lh_status load_best(lh_train_run *train_run, lh_error *error) {
    char path[LH_PATH_MAX + 64];
    lh_engine *engine = train_run->engine;
    lh_state state;
    int64_t step;
    snprintf(path, sizeof path, "%s/%s", train_run->run.directory, LH_BEST_CHECKPOINT);
    lh_status status = lh_state_open(&state, engine, true, error);
    if (status != LH_OK) return status;
    status = lh_checkpoint_read_parameters(path, train_run->spec, state.real_bytes, state.parameters, &step, error);
    if (status == LH_OK && step != train_run->window.best.step)
        status = lh_fail(error, LH_ERR_INPUT, "%s: the checkpoint is of step %lld, the best one is of step %lld", path,
                         (long long)step, (long long)train_run->window.best.step);
    if (status == LH_OK) status = engine->ops->write_state(engine, &state, engine->step, error);
    lh_state_close(&state);
    return status;
}

/* Evaluates the best checkpoint, unless there is none, it is the last checkpoint, or its evaluation is complete. */
static lh_status evaluate_best(lh_train_run *train_run, lh_error *error) {
    int64_t step = train_run->window.best.step;
    lh_eval_request request = make_evaluation_request(train_run, step);
    bool is_complete = false;
    if (step == 0 || step == train_run->engine->step) return LH_OK;
    lh_status status = lh_evaluation_is_complete(train_run->spec, &request, &is_complete, error);
    if (status == LH_OK && !is_complete) status = load_best(train_run, error);
    return status == LH_OK && !is_complete ? evaluate(train_run, step, &train_run->best_results, error) : status;
}

/* Evaluates the model after the last step or, with --overfit, checks its answers. */
static lh_status finish_run(lh_train_run *train_run, lh_error *error) {
    lh_screen_show_trained(train_run->screen, train_run);
    if (train_run->flags->overfit > 0) return check_overfit(train_run, error);
    if (!is_evaluated(train_run)) return LH_OK;
    lh_status status = evaluate(train_run, train_run->engine->step, &train_run->results, error);
    return status == LH_OK ? evaluate_best(train_run, error) : status;
}

/* Trains for about `seconds`, or until the engine waits for engines of other runs. *is_done: training has ended. */
static lh_status train_for(lh_train_run *train_run, double seconds, bool *is_done, lh_error *error) {
    double start = lh_read_clock();
    lh_status status = LH_OK;
    bool is_waiting = false;
    for (*is_done = false; status == LH_OK && !*is_done && !is_waiting && lh_read_clock() - start < seconds;) {
        int64_t old_step = train_run->engine->step;
        status = lh_loop_advance(train_run->loop, is_done, error);
        train_run->last_step = train_run->engine->step;
        is_waiting = train_run->last_step == old_step;
    }
    return status;
}

/* Ends a run. If it has not begun, for example because its checkpoint was refused, its files do not change. */
static void end_run(lh_train_run *train_run, lh_status status) {
    lh_error close_error = {""};
    lh_status close_status =
        train_run->is_begun ? lh_run_close(&train_run->run, status, &train_run->window, &close_error) : LH_OK;
    if (!train_run->is_begun) lh_run_release(&train_run->run);
    if (status == LH_OK && close_status != LH_OK) {
        status = close_status;
        train_run->error = close_error;
    }
    train_run->is_claimed = false;
    train_run->status = status;
    lh_loop_close(train_run->loop);
    train_run->loop = NULL;
    train_run->engine->ops->close(train_run->engine);
    train_run->engine = NULL;
    lh_screen_show_end(train_run->screen, train_run);
}

bool lh_train_run_advance(void *job) {
    lh_train_run *train_run = job;
    bool is_done = false;
    lh_status status = train_run->loop == NULL ? open_loop(train_run, &train_run->error) : LH_OK;
    if (status == LH_OK) status = train_for(train_run, SECONDS_AT_ONCE, &is_done, &train_run->error);
    if (status == LH_OK && is_done) status = finish_run(train_run, &train_run->error);
    if (status == LH_OK && !is_done) return true;
    end_run(train_run, status);
    return false;
}

void lh_train_run_close(lh_train_run *train_run) {
    if (train_run->is_claimed) lh_run_release(&train_run->run);
    if (train_run->engine != NULL) train_run->engine->ops->close(train_run->engine);
    free(train_run->results);
    free(train_run->best_results);
}
