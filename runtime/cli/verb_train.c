/* trainer train: opens the run's folder and an engine, trains, evaluates, sums up. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "train/json_text.h"
#include "train/loop.h"

typedef struct flags {
    int64_t steps, seed, threads, log_every, checkpoint_every, overfit;
    double learning_rate;
    const char *out, *init, *device;
    bool resume, overwrite, no_eval;
} flags;

/* A training in the making. */
typedef struct job {
    const lh_spec *spec;
    flags flags;
    lh_run run;
    lh_engine *engine;
    lh_window window;
    lh_progress progress;
    const volatile sig_atomic_t *stop;
    int64_t first_step;
    double perfect_accuracy; /* --overfit: of the last check */
} job;

static const lh_verb verb = {
    "train", "Trains, then evaluates. Files go to OUT/<id>/<plan digest>/lr<rate>-seed<seed>/.",
    "SIGTERM and Ctrl-C finish the step, write a checkpoint and exit with 75; --resume goes on to the same bits.\n"
    "--overfit K repeats K examples of the longest training length, in a folder of its own, until a model without\n"
    "dropout gets every counted position of them right; it is an error when the steps run out first."};

static lh_status read_flags(const lh_cli *cli, flags *f, bool *done, lh_error *error) {
    const lh_train_defaults *train = &cli->spec->train;
    *f = (flags){.steps = train->steps,
                 .log_every = train->log_every,
                 .checkpoint_every = train->checkpoint_every,
                 .learning_rate = train->learning_rate,
                 .out = "runs",
                 .device = "cpu"};
    const lh_option options[] = {
        {"--steps", LH_OPTION_INTEGER, &f->steps, 0, 4294967295.0, NULL, "N", "train up to this step"},
        {"--seed", LH_OPTION_INTEGER, &f->seed, 0, LH_LARGEST_SEED, NULL, "S", "initial values, data, dropout (0)"},
        {"--learning-rate", LH_OPTION_NUMBER, &f->learning_rate, 0, 1e6, NULL, "X", "in place of the spec's"},
        {"--out", LH_OPTION_TEXT, &f->out, 0, 0, NULL, "DIR", "where runs live (runs)"},
        {"--resume", LH_OPTION_SWITCH, &f->resume, 0, 0, NULL, NULL, "go on from the checkpoint, where there is one"},
        {"--overwrite", LH_OPTION_SWITCH, &f->overwrite, 0, 0, NULL, NULL, "replace a run that is there"},
        {"--init", LH_OPTION_TEXT, &f->init, 0, 0, NULL, "FILE", "start from the parameters of a checkpoint"},
        {"--threads", LH_OPTION_INTEGER, &f->threads, 1, 4096, NULL, "N", "(all processors); never changes a bit"},
        {"--device", LH_OPTION_TEXT, &f->device, 0, 0, NULL, "cpu|cuda", "(cpu)"},
        {"--no-eval", LH_OPTION_SWITCH, &f->no_eval, 0, 0, NULL, NULL, "no evaluation after training"},
        {"--overfit", LH_OPTION_INTEGER, &f->overfit, 1, 1e6, NULL, "K", "train on K fixed examples; must reach 100%"},
        {"--log-every", LH_OPTION_INTEGER, &f->log_every, 1, 1e9, NULL, "N", "steps per line of metrics.jsonl"},
        {"--checkpoint-every", LH_OPTION_INTEGER, &f->checkpoint_every, 1, 4294967295.0, NULL, "N", "steps"},
    };
    lh_status status = lh_cli_options(cli, &verb, options, sizeof options / sizeof *options, done, error);
    if (status != LH_OK || *done) return status;
    if (f->resume && f->overwrite) return lh_fail(error, LH_ERR_USAGE, "--resume and --overwrite exclude each other");
    if (strncmp(f->device, "cuda", 4) == 0)
        return lh_fail(error, LH_ERR_ENVIRONMENT, "--device %s: this trainer has no CUDA half", f->device);
    if (strcmp(f->device, "cpu") != 0)
        return lh_fail(error, LH_ERR_USAGE, "--device: '%s' is no device\n  expected: cpu or cuda", f->device);
    return LH_OK;
}

/* The words behind the verb as a JSON list, for free(). */
static char *flags_json(const lh_cli *cli) {
    lh_text text;
    if (lh_text_open(&text, NULL) != LH_OK) return NULL;
    putc('[', text.out);
    for (int i = 0; i < cli->argc; i++) {
        fputs(i > 0 ? "," : "", text.out);
        lh_json_quote(text.out, cli->argv[i]);
    }
    putc(']', text.out);
    return lh_text_close(&text, NULL) == LH_OK ? text.text : NULL;
}

static void print_view(job *j, const lh_training_view *view) {
    char bar[32], left[32], beyond[48] = "", chance[64] = "";
    if (!isnan(view->beyond)) snprintf(beyond, sizeof beyond, "  beyond %.4f", view->beyond);
    if (view->at_chance_since >= 0)
        snprintf(chance, sizeof chance, "  at chance since step %lld", (long long)view->at_chance_since);
    double seconds = (double)(view->steps - view->step) / view->steps_per_second;
    double share = view->steps > 0 ? (double)view->step / (double)view->steps : 1.0;
    lh_progress_line(&j->progress, "%s step %lld/%lld  %.1f steps/s  loss %.4f  accuracy %.4f%s%s  %s left",
                     lh_progress_bar(share, bar), (long long)view->step, (long long)view->steps, view->steps_per_second,
                     view->loss, view->accuracy, beyond, chance, lh_duration(seconds, left));
}

static void watch(void *context, const lh_training_view *view) {
    job *j = context;
    bool last = view->step == view->steps;
    if ((j->progress.live || view->logged || last) && (last || lh_progress_due(&j->progress, 5.0))) print_view(j, view);
}

static int longest_training_length(const lh_spec *spec) { return lh_lengths_longest(&spec->train.lengths); }

/* --overfit: whether the model without dropout gets all of its examples right. */
static bool is_perfect(void *context, lh_engine *engine) {
    job *j = context;
    lh_key key = lh_key_of_seed((uint64_t)j->flags.seed);
    lh_condition condition = {
        .n = longest_training_length(j->spec),
        .examples = (int)j->flags.overfit,
        .source = {key, 0, LH_DOMAIN_DATA, (uint32_t)j->flags.overfit},
        .draw = {key, 0, 0, LH_DOMAIN_EVAL},
    };
    lh_sums sums;
    engine->ops->evaluate(engine, &condition, &sums, NULL);
    j->perfect_accuracy = (double)sums.correct / (double)(sums.counted > 0 ? sums.counted : 1);
    return sums.correct == sums.counted;
}

static lh_status open_engine(job *j, lh_error *error) {
    const lh_cpu_program *program;
    const lh_spec *spec = j->spec;
    bool overfit = j->flags.overfit > 0;
    lh_status status = lh_cli_program(spec, &program, error);
    if (status == LH_OK && !j->flags.no_eval && !overfit) status = lh_check_limit(spec, &spec->eval.lengths, error);
    if (status == LH_OK && spec->eval.during_every > 0)
        status = lh_check_limit(spec, &spec->eval.during_lengths, error);
    if (status != LH_OK) return status;
    lh_engine_config config = {
        .spec = spec,
        .seed = (uint64_t)j->flags.seed,
        .learning_rate = j->flags.learning_rate,
        .threads = lh_cli_threads(j->flags.threads),
        .trains = true,
        .fixed_length = overfit ? longest_training_length(spec) : 0,
        .distinct = (int)j->flags.overfit,
    };
    status = lh_cpu_engine_open(&config, program, &j->engine, error);
    if (status == LH_OK && overfit) {
        lh_lengths longest = {NULL, 0, config.fixed_length, config.fixed_length, 1};
        status = j->engine->ops->reserve(j->engine, &longest, config.distinct, error);
    }
    return status;
}

static lh_status load_init(job *j, lh_error *error) {
    lh_state state;
    int64_t step;
    lh_status status = lh_state_open(&state, j->engine, true, error);
    if (status != LH_OK) return status;
    status = lh_checkpoint_read_parameters(j->flags.init, j->spec, state.real_bytes, state.parameters, &step, error);
    if (status == LH_OK) j->engine->ops->write_state(j->engine, &state, 0);
    lh_state_close(&state);
    return status;
}

static lh_status load_state(job *j, lh_error *error) {
    bool found = false;
    lh_error note = {""};
    lh_status status = LH_OK;
    if (j->flags.resume) status = lh_run_resume(&j->run, j->engine, &j->window, &found, &note, error);
    if (status == LH_OK && note.text[0] != 0) fprintf(stderr, "note: %s\n", note.text);
    if (status == LH_OK && found) fprintf(stderr, "resuming at step %lld\n", (long long)j->engine->step);
    if (status == LH_OK && found && j->engine->step > j->flags.steps)
        return lh_fail(error, LH_ERR_INPUT, "%s: the checkpoint is of step %lld, --steps asks for %lld",
                       j->run.directory, (long long)j->engine->step, (long long)j->flags.steps);
    if (status == LH_OK && !found && j->flags.init != NULL) status = load_init(j, error);
    j->first_step = j->engine->step;
    return status;
}

static lh_status train(job *j, lh_error *error) {
    lh_training training = {
        .run = &j->run,
        .steps = j->flags.steps,
        .log_every = j->flags.log_every,
        .checkpoint_every = j->flags.checkpoint_every,
        .checkpoint_minutes = j->spec->train.checkpoint_minutes,
        .stop = j->stop,
        .watch = watch,
        .perfect = j->flags.overfit > 0 ? is_perfect : NULL,
        .context = j,
    };
    lh_progress_start(&j->progress);
    lh_status status = lh_train(&training, j->engine, &j->window, error);
    lh_progress_wipe(&j->progress);
    char time[32];
    if (status == LH_OK)
        printf("%s: step %lld, %lld steps in %s\n%s\n", j->spec->id, (long long)j->engine->step,
               (long long)(j->engine->step - j->first_step), lh_duration(lh_progress_seconds(&j->progress), time),
               j->run.directory);
    return status;
}

static lh_status check_overfit(job *j, lh_error *error) {
    if (is_perfect(j, j->engine)) {
        printf("%lld examples of length %d: accuracy 1.0000 at step %lld\n", (long long)j->flags.overfit,
               longest_training_length(j->spec), (long long)j->engine->step);
        return LH_OK;
    }
    return lh_fail(error, LH_ERR_INPUT,
                   "--overfit %lld: accuracy %.4f at step %lld; a sound model with enough steps reaches 1\n"
                   "  hint: more --steps, or another --learning-rate",
                   (long long)j->flags.overfit, j->perfect_accuracy, (long long)j->engine->step);
}

static lh_status evaluate(job *j, lh_error *error) {
    const lh_eval_defaults *eval = &j->spec->eval;
    int count = lh_lengths_count(&eval->lengths);
    lh_eval_result *results = lh_engine_memory((size_t)count * sizeof *results, "the evaluation", error);
    if (results == NULL) return LH_ERR_ENVIRONMENT;
    lh_progress_start(&j->progress);
    lh_eval_request request = {
        .lengths = eval->lengths,
        .examples = eval->examples,
        .draws = eval->draws,
        .seed = LH_EVAL_SEED,
        .step = j->engine->step,
        .path = j->run.evaluations,
        .only_missing = true,
        .stop = j->stop,
        .watch = lh_progress_evaluation,
        .context = &j->progress,
    };
    lh_status status = lh_evaluate(j->engine, &request, results, error);
    lh_progress_wipe(&j->progress);
    if (status == LH_OK) lh_print_evaluation(j->spec, results, count);
    free(results);
    return status;
}

static lh_status work(job *j, lh_error *error) {
    lh_status status = load_state(j, error);
    if (status == LH_OK) status = train(j, error);
    if (status == LH_OK && j->flags.overfit > 0) return check_overfit(j, error);
    if (status == LH_OK && !j->flags.no_eval && lh_lengths_count(&j->spec->eval.lengths) > 0)
        status = evaluate(j, error);
    return status;
}

static lh_status run_in_folder(job *j, lh_error *error) {
    lh_run_start start = j->flags.resume ? LH_RUN_RESUME : j->flags.overwrite ? LH_RUN_OVERWRITE : LH_RUN_FRESH;
    if (j->flags.overfit > 0) start = LH_RUN_OVERWRITE;
    j->run.level = j->engine->level;
    j->run.threads = j->engine->threads;
    lh_status status = lh_run_open(&j->run, start, error);
    if (status != LH_OK) return status;
    status = work(j, error);
    lh_status closed = lh_run_close(&j->run, status, status == LH_OK ? error : NULL);
    return status != LH_OK ? status : closed;
}

lh_status lh_verb_train(const lh_cli *cli, lh_error *error) {
    bool done;
    static job j;
    memset(&j, 0, sizeof j);
    j.spec = cli->spec;
    lh_status status = read_flags(cli, &j.flags, &done, error);
    if (status != LH_OK || done) return status;
    char *words = flags_json(cli);
    if (words == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for the command line");
    j.stop = lh_catch_signals();
    j.run = (lh_run){.spec = cli->spec,
                     .root = j.flags.out,
                     .flags = words,
                     .seed = (uint64_t)j.flags.seed,
                     .learning_rate = j.flags.learning_rate,
                     .overfit = (int)j.flags.overfit};
    status = open_engine(&j, error);
    if (status == LH_OK) status = run_in_folder(&j, error);
    if (j.engine != NULL) j.engine->ops->close(j.engine);
    free(words);
    return status;
}
