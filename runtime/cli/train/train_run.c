/* See train_run.h. */
#include "cli/train/train_run.h"

#include <stdlib.h>
#include <string.h>

#include "cli/train/train_screen.h"
#include "diagnosis/overfit.h"
#include "eval/eval_data.h"

static const double SECONDS_AT_ONCE =
    0.5; /* longest time for which a thread works on one run; a change of the run refills the processor's caches */

static lh_run_start make_start(const lh_train_flags *flags) {
    if (flags->overfit > 0) return LH_RUN_OVERWRITE;
    return flags->resume ? LH_RUN_RESUME : flags->overwrite ? LH_RUN_OVERWRITE : LH_RUN_FRESH;
}

lh_engine_config lh_train_run_config(const lh_train_run *m) {
    return (lh_engine_config){
        .spec = m->spec,
        .seed = m->run.seed,
        .learning_rate = m->run.learning_rate,
        .trains = true,
        .fixed_length = m->flags->overfit > 0 ? lh_overfit_get_length(m->spec) : 0,
        .distinct = (int)m->flags->overfit,
    };
}

lh_status lh_train_run_claim(lh_train_run *m, lh_error *error) {
    lh_status status = lh_run_claim(&m->run, make_start(m->flags), error);
    m->claimed = status == LH_OK;
    if (m->claimed && !m->run.alone) lh_warn_unlocked(m->run.directory);
    return status;
}

lh_status lh_train_run_open(lh_train_run *m, lh_error *error) {
    lh_status status = LH_OK;
    if (m->flags->overfit > 0) {
        int n = lh_overfit_get_length(m->spec);
        lh_lengths longest = {NULL, 0, n, n, 1};
        status = m->engine->ops->reserve(m->engine, &longest, (int)m->flags->overfit, error);
    }
    if (status != LH_OK) return status;
    m->engine->stop = m->stop;
    m->run.engine = m->engine;
    return m->claimed ? LH_OK : lh_train_run_claim(m, error);
}

static lh_overfit_run make_overfit_run(const lh_train_run *m) {
    return (lh_overfit_run){
        .examples = (int)m->flags->overfit,
        .length = lh_overfit_get_length(m->spec),
        .seed = m->run.seed,
        .learning_rate = m->run.learning_rate,
        .metrics = m->run.metrics,
        .init = m->flags->init,
    };
}

/* With --overfit: whether the model without dropout answers all its examples correctly. */
static bool is_perfect(void *context, lh_engine *engine) {
    lh_overfit_run run = make_overfit_run(context);
    lh_sums sums;
    lh_error ignored; /* the next step reports a failed device */
    return lh_overfit_evaluate(&run, engine, &sums, &ignored) == LH_OK && sums.counted > 0 &&
           sums.correct == sums.counted;
}

/* Whether a claimed run resumes a checkpoint. */
static bool resumes(const lh_train_run *m) {
    return make_start(m->flags) == LH_RUN_RESUME && lh_run_has_checkpoint(&m->run);
}

lh_status lh_train_runs_load_init(lh_train_run *train_runs, int count, lh_error *error) {
    const lh_train_flags *flags = train_runs[0].flags;
    const lh_spec *spec = train_runs[0].spec;
    lh_state state;
    bool needed = false;
    for (int i = 0; i < count; i++) needed = needed || !resumes(&train_runs[i]);
    if (flags->init == NULL || !needed) return LH_OK;
    lh_status status = lh_state_open(&state, train_runs[0].engine, true, error);
    if (status != LH_OK) return status;
    status = lh_checkpoint_read_init(flags->init, spec, state.real_bytes, state.parameters, error);
    for (int i = 0; status == LH_OK && i < count; i++)
        if (!resumes(&train_runs[i]))
            status = train_runs[i].engine->ops->write_state(train_runs[i].engine, &state, 0, error);
    lh_state_close(&state);
    return status;
}

static lh_status load_state(lh_train_run *m, lh_error *error) {
    bool found = false;
    lh_error note = {""};
    lh_status status = LH_OK;
    if (make_start(m->flags) == LH_RUN_RESUME)
        status = lh_run_resume(&m->run, m->engine, &m->window, &found, &note, error);
    if (status == LH_OK && note.text[0] != 0) lh_screen_print_note(m->screen, m, "warning: %s", note.text);
    if (status == LH_OK && found)
        lh_screen_print_note(m->screen, m, "resuming at step %lld", (long long)m->engine->step);
    m->first_step = m->last_step = m->engine->step;
    return status;
}

static lh_status open_loop(lh_train_run *m, lh_error *error) {
    lh_training training = {
        .run = &m->run,
        .steps = m->flags->steps,
        .log_every = m->flags->log_every,
        .checkpoint_every = m->flags->checkpoint_every,
        .checkpoint_minutes = m->spec->train.checkpoint_minutes,
        .watch = lh_screen_update,
        .perfect = m->flags->overfit > 0 ? is_perfect : NULL,
        .context = m,
    };
    m->run.refused_from = m->flags->steps + 1;
    lh_status status = load_state(m, error);
    if (status == LH_OK) status = lh_run_begin(&m->run, make_start(m->flags), error);
    m->begun = status == LH_OK;
    if (status == LH_OK) lh_screen_show_start(m->screen, m);
    return status == LH_OK ? lh_loop_open(&training, m->engine, &m->window, &m->loop, error) : status;
}

static lh_status check_overfit(lh_train_run *m, lh_error *error) {
    if (is_perfect(m, m->engine)) return LH_OK;
    if (lh_is_stopped(m->engine)) return LH_STOPPED;
    lh_overfit_run run = make_overfit_run(m);
    return lh_overfit_explain(&run, m->engine, error);
}

/* Requests the evaluation after the last step. */
static lh_eval_request make_evaluation_request(const lh_train_run *m, int64_t step) {
    const lh_eval_defaults *eval = &m->spec->eval;
    return (lh_eval_request){
        .lengths = eval->lengths,
        .groups = m->spec->corpus != NULL ? &m->spec->corpus->final : NULL,
        .noise = eval->noise,
        .examples = eval->examples,
        .batch = eval->batch,
        .draws = eval->draws,
        .teacher_forced = eval->teacher_forced,
        .seed = LH_EVAL_SEED,
        .step = step,
        .path = m->run.evaluations,
        .only_missing = true,
        .watch = lh_screen_update_evaluation,
    };
}

/* Requests a sampled task's evaluation on the validation stream, without noise. This evaluation precedes the
 * evaluation after the last step. */
static lh_eval_request make_validation_request(const lh_train_run *m, int64_t step) {
    lh_eval_request request = make_evaluation_request(m, step);
    request.validation = true;
    request.lengths = m->spec->eval.validation_lengths;
    request.noise = (lh_noise){0, NULL};
    request.examples = m->spec->eval.validation_examples;
    return request;
}

static bool validates(const lh_train_run *m) {
    return m->spec->corpus == NULL && m->spec->eval.validation_examples > 0;
}

static bool is_evaluated(const lh_train_run *m) {
    lh_eval_request request = make_evaluation_request(m, 0);
    return !m->flags->no_eval && m->flags->overfit == 0 && lh_count_eval_conditions(&request) > 0;
}

lh_status lh_train_run_is_finished(const lh_train_run *m, bool *finished, lh_error *error) {
    lh_eval_request request = make_evaluation_request(m, m->flags->steps);
    int exit_code;
    int64_t step;
    lh_status status = lh_run_read_ending(&m->run, &exit_code, &step, error);
    bool is_further = step > m->flags->steps && (exit_code == LH_OK || exit_code == LH_STOPPED);
    *finished = is_further || (exit_code == LH_OK && step == m->flags->steps);
    if (status != LH_OK || !*finished || is_further || !is_evaluated(m)) return status;
    *finished = lh_records_data(m->run.evaluations, m->spec);
    if (!*finished) return LH_OK;
    return lh_evaluation_is_complete(m->spec, &request, finished, error);
}

static lh_status evaluate(lh_train_run *m, lh_error *error) {
    lh_eval_request validation = make_validation_request(m, m->engine->step),
                    request = make_evaluation_request(m, m->engine->step);
    int first = validates(m) ? lh_count_eval_conditions(&validation) : 0;
    m->conditions = first + lh_count_eval_conditions(&request);
    m->results = lh_engine_allocate((size_t)m->conditions * sizeof *m->results, "the evaluation", error);
    if (m->results == NULL) return LH_ERR_ENVIRONMENT;
    validation.context = request.context = m;
    lh_screen_show_evaluation(m->screen, m);
    lh_status status = LH_OK;
    if (first > 0) status = lh_evaluate(m->engine, &validation, m->results, error);
    m->validated = first;
    if (status == LH_OK) status = lh_evaluate(m->engine, &request, m->results + first, error);
    if (status != LH_OK) {
        free(m->results);
        m->results = NULL;
    }
    return status;
}

/* Evaluates after the last step. */
static lh_status finish(lh_train_run *m, lh_error *error) {
    lh_screen_show_trained(m->screen, m);
    if (m->flags->overfit > 0) return check_overfit(m, error);
    return is_evaluated(m) ? evaluate(m, error) : LH_OK;
}

/* Trains for about `seconds`, or until the engine waits for engines of other runs. */
static lh_status train_for(lh_train_run *m, double seconds, bool *done, lh_error *error) {
    double start = lh_read_clock();
    lh_status status = LH_OK;
    bool waits = false;
    for (*done = false; status == LH_OK && !*done && !waits && lh_read_clock() - start < seconds;) {
        int64_t old_step = m->engine->step;
        status = lh_loop_advance(m->loop, done, error);
        m->last_step = m->engine->step;
        waits = m->last_step == old_step;
    }
    return status;
}

/* Ends a run; the files do not change if its checkpoint was refused. */
static void end_run(lh_train_run *m, lh_status status) {
    lh_error closing = {""};
    lh_status closed = m->begun ? lh_run_close(&m->run, status, &m->window, &closing) : LH_OK;
    if (!m->begun) lh_run_release(&m->run);
    if (status == LH_OK && closed != LH_OK) {
        status = closed;
        m->error = closing;
    }
    m->claimed = false;
    m->status = status;
    m->over = true;
    lh_loop_close(m->loop);
    m->loop = NULL;
    m->engine->ops->close(m->engine);
    m->engine = NULL;
    lh_screen_show_end(m->screen, m);
}

bool lh_train_run_advance(void *job) {
    lh_train_run *m = job;
    bool done = false;
    lh_status status = m->loop == NULL ? open_loop(m, &m->error) : LH_OK;
    if (status == LH_OK) status = train_for(m, SECONDS_AT_ONCE, &done, &m->error);
    if (status == LH_OK && done) status = finish(m, &m->error);
    if (status == LH_OK && !done) return true;
    end_run(m, status);
    return false;
}

void lh_train_run_close(lh_train_run *m) {
    if (m->claimed) lh_run_release(&m->run);
    if (m->engine != NULL) m->engine->ops->close(m->engine);
    free(m->results);
}
