/* trainer train: reads flags, and trains one run on all threads or several runs side by side. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/json_text.h"
#include "cli/data_files.h"
#include "cli/train/fresh_start.h"
#include "cli/train/train_run.h"
#include "cli/train/train_screen.h"
#include "cli/train/verb_train.h"
#include "data/datasets/epoch.h"
#include "diagnosis/overfit.h"
#include "engine/checkpoint.h"
#include "engine/schedule.h"
#include "runtime/cuda/fleet/fleet.h"
#include "training/group.h"

enum { MAX_RUNS = 4096 };

static const lh_verb verb = {
    "train", "Trains and evaluates. Files are written to OUT/<id>/<plan digest>/lr<rate>-seed<seed>/.",
    "For a file of examples, the name of a run's folder ends with -data and 8 digits of the file's SHA-256.\n"
    "Several seeds or learning rates train side by side, each run on one thread, with the same bits as if it ran "
    "alone.\n"
    "--seeds-init, --seeds-data and --seeds-draws give separate seeds to parts of the random numbers, with one\n"
    "run for each combination of seeds. If a run fails (a loss that is not a number), the others continue, and the\n"
    "exit code is 1.\n"
    "On a CUDA device all runs step together, with device code for many models; --seeds S:S uses this code for\n"
    "one run.\n"
    "SIGTERM, SIGUSR1, SIGHUP and Ctrl-C finish the step, write a checkpoint and exit with 75; --resume continues\n"
    "with the same bits.\n"
    "--overfit K repeats K examples of the longest training length, in a separate folder, until the model without\n"
    "dropout gives the right answer at every counted position; if it does not within the steps, the exit code is 1."};

static int64_t count_range(const lh_option_range *range) { return range->last - range->first + 1; }

/* The number of runs. If there are more than MAX_RUNS, the result is some number above MAX_RUNS, perhaps not the exact
 * one. */
static int64_t count_runs(const lh_train_flags *f) {
    int64_t count = f->rates.count, seeds = count_range(&f->seeds);
    for (int i = 0; i <= LH_SEED_PARTS; i++) {
        if (seeds > MAX_RUNS || count > MAX_RUNS) return seeds > count ? seeds : count;
        count *= seeds;
        seeds = i < LH_SEED_PARTS && f->has_part_seeds[i] ? count_range(&f->part_seeds[i]) : 1;
    }
    return count;
}

static lh_status check_flags(const lh_train_flags *f, bool has_seed, bool has_seeds, lh_error *error) {
    int64_t count = count_runs(f);
    if (has_seed && has_seeds)
        return lh_fail(error, LH_ERR_USAGE, "--seed and --seeds exclude each other; leave out one of them");
    if (count > MAX_RUNS)
        return lh_fail(error, LH_ERR_USAGE,
                       "--seeds, --seeds-..., --learning-rate: %lld runs\n  expected: at most %d at once",
                       (long long)count, MAX_RUNS);
    if (f->has_part_seeds[LH_SEED_INIT] && f->init != NULL)
        return lh_fail(error, LH_ERR_USAGE,
                       "--seeds-init: the initial values come from the file %s\n"
                       "  expected: --seeds-init without --init, and a spec without init",
                       f->init);
    if (f->resume && f->overwrite)
        return lh_fail(error, LH_ERR_USAGE, "--resume and --overwrite exclude each other; leave out one of them");
    if (f->missing && (f->overwrite || f->overfit > 0))
        return lh_fail(error, LH_ERR_USAGE, "--missing cannot be used together with --overwrite or --overfit");
    return LH_OK;
}

/* The generator reads the columns name to max of this table, to refuse a wrong flag before a build. So every row must
 * begin a line, as {"--name", LH_OPTION_KIND, value, min, max, ...}. A similar table in data_files.c has the flags of a
 * dataset. */
static lh_status read_flags(const lh_cli *cli, lh_train_flags *f, bool *has_printed_help, lh_error *error) {
    const lh_train_defaults *train = &cli->spec->train;
    int64_t seed = 0;
    bool has_seed = false, has_seeds = false;
    *f = (lh_train_flags){.steps = train->steps,
                          .log_every = train->log_every,
                          .checkpoint_every = train->checkpoint_every,
                          .rates = {1, {train->learning_rate}},
                          .init = train->init,
                          .out = "runs",
                          .device = "cpu"};
    const lh_option options[] = {
        {"--steps", LH_OPTION_INTEGER, &f->steps, 0, 4294967295.0, NULL, "N", "train up to this step"},
        {"--seed", LH_OPTION_INTEGER, &seed, 0, LH_LARGEST_SEED, &has_seed, "S",
         "seed of initial values, data, dropout (0)"},
        {"--seeds", LH_OPTION_RANGE, &f->seeds, 0, LH_LARGEST_SEED, &has_seeds, "A:B",
         "one run for each seed from A to B"},
        {"--seeds-init", LH_OPTION_RANGE, &f->part_seeds[LH_SEED_INIT], 0, LH_LARGEST_SEED,
         &f->has_part_seeds[LH_SEED_INIT], "A:B", "separate seeds of initial values (the run's seed)"},
        {"--seeds-data", LH_OPTION_RANGE, &f->part_seeds[LH_SEED_DATA], 0, LH_LARGEST_SEED,
         &f->has_part_seeds[LH_SEED_DATA], "A:B", "separate seeds of training examples"},
        {"--seeds-draws", LH_OPTION_RANGE, &f->part_seeds[LH_SEED_DRAWS], 0, LH_LARGEST_SEED,
         &f->has_part_seeds[LH_SEED_DRAWS], "A:B", "separate seeds of random positions and dropout"},
        {"--learning-rate", LH_OPTION_NUMBERS, &f->rates, 0, 1e6, NULL, "X,...",
         "rates, one run for each (the spec's)"},
        {"--out", LH_OPTION_TEXT, &f->out, 0, 0, NULL, "DIR", "folder of the runs (runs)"},
        {"--resume", LH_OPTION_SWITCH, &f->resume, 0, 0, NULL, NULL, "continue from the checkpoint if there is one"},
        {"--missing", LH_OPTION_SWITCH, &f->missing, 0, 0, NULL, NULL, "--resume, but skip finished and locked runs"},
        {"--overwrite", LH_OPTION_SWITCH, &f->overwrite, 0, 0, NULL, NULL, "replace an existing run"},
        {"--init", LH_OPTION_TEXT, &f->init, 0, 0, NULL, "FILE", "start from the parameters of a checkpoint"},
        {"--threads", LH_OPTION_INTEGER, &f->threads, 1, 4096, NULL, "N", "threads (all processors); changes no bit"},
        {"--device", LH_OPTION_TEXT, &f->device, 0, 0, NULL, LH_DEVICE_WORDS},
        {"--no-eval", LH_OPTION_SWITCH, &f->no_eval, 0, 0, NULL, NULL, "skip the evaluation after training"},
        {"--overfit", LH_OPTION_INTEGER, &f->overfit, 1, 1e6, NULL, "K", "train on K fixed examples; must reach 100%"},
        {"--log-every", LH_OPTION_INTEGER, &f->log_every, 1, 1e9, NULL, "N", "steps per line of metrics.jsonl"},
        {"--checkpoint-every", LH_OPTION_INTEGER, &f->checkpoint_every, 1, 4294967295.0, NULL, "N",
         "steps between checkpoints"},
    };
    lh_status status =
        lh_cli_read_options(cli, &verb, options, sizeof options / sizeof *options, has_printed_help, error);
    if (status != LH_OK || *has_printed_help) return status;
    if (!has_seeds) f->seeds = (lh_option_range){seed, seed};
    f->resume = f->resume || f->missing;
    status = check_flags(f, has_seed, has_seeds, error);
    f->is_group = has_seeds || (status == LH_OK && count_runs(f) > 1);
    return status;
}

/* Returns the arguments after the verb, without data flags (data_files.h), as the text of a JSON list, which the caller
 * frees; NULL: out of memory. */
static char *write_flags(const lh_cli *cli) {
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

/* Makes an example of a user's own task at every length, to find its errors before training. */
static lh_status try_task(const lh_spec *spec, const lh_train_flags *flags, lh_error *error) {
    lh_key key = lh_key_of_seed(LH_EVAL_SEED);
    lh_status status = lh_try_lengths(spec->task, &spec->train.lengths, key, error);
    if (status == LH_OK && !flags->no_eval && spec->eval.validation_examples > 0)
        status = lh_try_lengths(spec->task, &spec->eval.validation_lengths, key, error);
    if (status == LH_OK && !flags->no_eval) status = lh_try_lengths(spec->task, &spec->eval.lengths, key, error);
    if (status == LH_OK && spec->eval.during_every > 0)
        status = lh_try_lengths(spec->task, &spec->eval.during_lengths, key, error);
    return status;
}

/* Checks that the sequences of the evaluation after training fit the encoding and, if eval.places is set, that the
 * targets of this evaluation allow accuracies by place. */
static lh_status check_evaluation(const lh_spec *spec, lh_error *error) {
    const lh_eval_defaults *eval = &spec->eval;
    lh_status status = lh_check_limit(spec, &eval->lengths, error);
    if (status == LH_OK && eval->places) status = lh_check_places(spec, &eval->lengths, error);
    if (status == LH_OK && eval->places && eval->validation_examples > 0)
        status = lh_check_places(spec, &eval->validation_lengths, error);
    return status;
}

/* Checks, before a run is opened, that --overfit is possible, that sequences of evaluations fit the encoding, and that
 * a user's own task works. */
static lh_status check_lengths(const lh_spec *spec, const lh_train_flags *flags, lh_error *error) {
    lh_status status = LH_OK;
    if (flags->overfit > 0 && spec->eval.dropout)
        return lh_fail(error, LH_ERR_INPUT,
                       "--overfit: this spec has eval.dropout, so learnt examples may be wrong because of dropout\n"
                       "  hint: a build with --set eval.dropout=false");
    if (!flags->no_eval && flags->overfit == 0) status = check_evaluation(spec, error);
    if (status == LH_OK && spec->eval.during_every > 0)
        status = lh_check_limit(spec, &spec->eval.during_lengths, error);
    return status == LH_OK ? try_task(spec, flags, error) : status;
}

/* Sets the seeds of the run with this index among the runs of one learning rate; the seeds of the last part vary
 * fastest. A part has a separate seed only if this seed differs from the run's seed. */
static void set_seeds(lh_run *run, const lh_train_flags *flags, int64_t index) {
    int64_t part_seed[LH_SEED_PARTS];
    for (int i = LH_SEED_PARTS; i-- > 0;) {
        if (!flags->has_part_seeds[i]) continue;
        int64_t count = count_range(&flags->part_seeds[i]);
        part_seed[i] = flags->part_seeds[i].first + index % count;
        index /= count;
    }
    run->seed = (uint64_t)(flags->seeds.first + index);
    for (int i = 0; i < LH_SEED_PARTS; i++) {
        if (!flags->has_part_seeds[i] || (uint64_t)part_seed[i] == run->seed) continue;
        run->separate_seeds.is_separate[i] = true;
        run->separate_seeds.seed[i] = (uint64_t)part_seed[i];
    }
}

/* Makes a run for every rate and all combinations of seeds. */
static void list_runs(lh_train_run *train_runs, lh_train_screen *screen, const lh_train_run *common) {
    const lh_train_flags *flags = common->flags;
    int64_t count = count_runs(flags) / flags->rates.count;
    for (int rate = 0; rate < flags->rates.count; rate++)
        for (int64_t index = 0; index < count; index++) {
            lh_train_run *train_run = train_runs++;
            *train_run = *common;
            train_run->screen = screen;
            train_run->run.learning_rate = flags->rates.list[rate];
            set_seeds(&train_run->run, flags, index);
        }
}

/* For --missing: claims each run that is not finished, is not locked by another process, and has no symbolic link in
 * the path of its folder. Removes all other runs from the list. */
static lh_status claim_missing_runs(lh_train_run *train_runs, int *count, lh_error *error) {
    int kept_count = 0, finished_count = 0, run_count = *count;
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < run_count; i++) {
        bool is_finished = false;
        lh_train_run train_run = train_runs[i];
        status = lh_train_run_claim(&train_run, error);
        if (status != LH_OK && (train_run.run.lock == LH_LOCK_HELD || train_run.run.has_link)) {
            fprintf(stderr, "%s: %s; left out\n", train_run.run.directory,
                    train_run.run.has_link ? "the path has a symbolic link" : "another process uses this folder");
            status = LH_OK;
            continue;
        }
        if (status == LH_OK) status = lh_train_run_is_finished(&train_run, &is_finished, error);
        if (status == LH_OK && !is_finished) train_runs[kept_count++] = train_run;
        else lh_train_run_close(&train_run);
        finished_count += is_finished;
    }
    *count = kept_count;
    if (finished_count > 0 || kept_count < run_count)
        fprintf(stderr, "%s: %d of %d runs are finished, %d remain\n", train_runs[0].spec->id, finished_count,
                run_count, kept_count);
    return status;
}

/* With a dataset, reports the steps in epochs, and overlaps of held-out files with training. Refuses --overfit K if the
 * data has fewer than K examples of the longest shape. */
static lh_status check_data(const lh_spec *spec, const lh_train_flags *flags, lh_error *error) {
    const lh_corpus *corpus = spec->corpus;
    if (corpus == NULL) return LH_OK;
    int n = lh_overfit_get_length(spec);
    long long batches = (long long)lh_count_epoch_batches(corpus, spec->train.batch);
    long long available = (long long)lh_dataset_count_examples(&corpus->train, n);
    if (flags->overfit > available)
        return lh_fail(error, LH_ERR_INPUT,
                       "--overfit %lld: %s has %lld examples of its longest shape, %d input and %d output tokens\n"
                       "  expected: at most %lld",
                       (long long)flags->overfit, corpus->train.path, available, lh_get_input_length(spec, n),
                       lh_get_output_length(spec, n), available);
    fprintf(stderr, "%s: %lld examples in %s; an epoch is %lld batches, %lld steps are %.4g epochs\n", spec->id,
            (long long)corpus->train.count, corpus->train.path, batches, (long long)flags->steps,
            (double)flags->steps / (double)batches);
    return lh_data_files_compare(spec, error);
}

/* Refuses steps beyond the end of the learning rate's schedule; reports if training stops before its end. */
static lh_status check_schedule(const lh_spec *spec, const lh_train_flags *flags, lh_error *error) {
    lh_status status = lh_schedule_check(&spec->train, flags->steps, error);
    if (status == LH_OK && spec->train.schedule.kind != LH_SCHEDULE_CONSTANT && flags->steps < spec->train.steps)
        fprintf(stderr, "%s: stops at step %lld, before the learning rate schedule ends at step %lld\n", spec->id,
                (long long)flags->steps, (long long)spec->train.steps);
    return status;
}

/* Checks the init file before any folder is created. With --resume the file may not be needed, so it is checked only
 * when it is loaded. */
static lh_status check_init(const lh_spec *spec, const lh_train_flags *flags, lh_error *error) {
    if (flags->init == NULL || flags->resume) return LH_OK;
    return lh_checkpoint_read_init(flags->init, spec, 0, NULL, error);
}

static void print_start(const lh_target *target, const lh_train_run *train_runs, int count, int threads) {
    const char *id = train_runs[0].spec->id, *level = train_runs[0].engine->level;
    int engine_threads = train_runs[0].engine->threads;
    if (target->cpu == NULL) {
        char description[160];
        lh_cuda_fleet_describe(train_runs[0].engine, description, sizeof description);
        fprintf(stderr, "%s: sm_%d (%s), %s; batches by %d threads; code: %s\n", id, target->cuda.architecture,
                target->cuda.name, description, engine_threads, target->cuda.image);
    } else if (count == 1) {
        fprintf(stderr, "%s: level %s, threads %d\n", id, level, engine_threads);
    } else if (threads < count) {
        fprintf(stderr, "%s: %d runs, level %s, threads %d\n", id, count, level, threads);
    } else {
        fprintf(stderr, "%s: %d runs, level %s, threads %d of %d, one for each run\n", id, count, level, count,
                threads);
    }
}

/* Opens engines. On the CPU a single run has all threads, and each of several runs has one thread. */
static lh_status open_engines(const lh_target *target, lh_train_run *train_runs, int count, int threads,
                              lh_error *error) {
    lh_engine_config *configs = calloc((size_t)count, sizeof *configs);
    lh_engine **engines = calloc((size_t)count, sizeof(lh_engine *));
    lh_status status = LH_OK;
    if (configs == NULL || engines == NULL) status = lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for %d runs", count);
    for (int i = 0; status == LH_OK && i < count; i++) {
        configs[i] = lh_train_run_make_config(&train_runs[i]);
        configs[i].threads = count > 1 && target->cpu != NULL ? 1 : threads;
    }
    if (status == LH_OK)
        status = lh_target_open_engines(target, configs, count, train_runs[0].flags->is_group, engines, error);
    for (int i = 0; status == LH_OK && i < count; i++) train_runs[i].engine = engines[i];
    free(configs);
    free(engines);
    return status;
}

static lh_status open_runs(const lh_target *target, lh_train_run *train_runs, int count, int threads, lh_error *error) {
    const lh_train_flags *flags = train_runs[0].flags;
    lh_status status = open_engines(target, train_runs, count, threads, error);
    for (int i = 0; status == LH_OK && i < count; i++) status = lh_train_run_open(&train_runs[i], error);
    if (status == LH_OK) status = lh_train_runs_load_init(train_runs, count, error);
    if (status == LH_OK) print_start(target, train_runs, count, threads);
    if (status == LH_OK && flags->resume && !flags->missing && flags->overfit == 0)
        lh_print_fresh_start(train_runs, count);
    return status;
}

/* The status of the whole command. If runs end with different statuses, an environment error comes first, then a stop
 * by a signal, then another failure. */
static lh_status combine_statuses(const lh_train_run *train_runs, int count, lh_error *error) {
    if (count == 1) {
        *error = train_runs[0].error;
        return train_runs[0].status;
    }
    int failed_count = 0, stopped_count = 0;
    lh_status worst_status = LH_OK;
    for (int i = 0; i < count; i++) {
        lh_status status = train_runs[i].status;
        stopped_count += status == LH_STOPPED;
        if (status == LH_OK || status == LH_STOPPED) continue;
        failed_count++;
        worst_status = worst_status == LH_ERR_ENVIRONMENT ? worst_status : status;
    }
    if (worst_status != LH_ERR_ENVIRONMENT && stopped_count > 0) return LH_STOPPED;
    return failed_count > 0 ? lh_fail(error, worst_status, "%d of %d runs failed", failed_count, count) : LH_OK;
}

static lh_status advance_runs(lh_train_run *train_runs, lh_train_screen *screen, int count, int threads,
                              lh_error *error) {
    void **jobs = malloc((size_t)count * sizeof *jobs);
    if (jobs == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for %d runs", count);
    for (int i = 0; i < count; i++) jobs[i] = &train_runs[i];
    lh_status status = lh_group_run(threads, jobs, count, lh_train_run_advance, error);
    free(jobs);
    if (status == LH_OK && count > 1) lh_screen_print_summary(screen);
    return status == LH_OK ? combine_statuses(train_runs, count, error) : status;
}

static lh_status train_on_screen(const lh_target *target, lh_train_run *train_runs, lh_train_screen *screen, int count,
                                 int threads, lh_error *error) {
    lh_status status = lh_screen_open(screen, train_runs, count, error);
    if (status == LH_OK) status = open_runs(target, train_runs, count, threads, error);
    if (status == LH_OK)
        status =
            advance_runs(train_runs, screen, count, count > 1 ? lh_target_count_workers(target, threads) : 1, error);
    lh_screen_close(screen);
    return status;
}

static lh_status train_all(const lh_target *target, const lh_train_run *common, int count, int threads,
                           lh_error *error) {
    lh_train_screen screen;
    lh_train_run *train_runs = calloc((size_t)count, sizeof *train_runs);
    if (train_runs == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for %d runs", count);
    list_runs(train_runs, &screen, common);
    lh_status status = common->flags->missing ? claim_missing_runs(train_runs, &count, error) : LH_OK;
    if (status == LH_OK && count > 0) status = train_on_screen(target, train_runs, &screen, count, threads, error);
    for (int i = 0; i < count; i++) lh_train_run_close(&train_runs[i]);
    free(train_runs);
    return status;
}

static lh_status train(const lh_cli *cli, const lh_target *target, const lh_train_flags *flags, lh_error *error) {
    lh_status status = check_lengths(&target->spec, flags, error);
    if (status == LH_OK) status = check_data(&target->spec, flags, error);
    if (status == LH_OK) status = check_schedule(&target->spec, flags, error);
    if (status == LH_OK) status = check_init(&target->spec, flags, error);
    if (status != LH_OK) return status;
    char *flags_text = write_flags(cli);
    if (flags_text == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for the command line");
    lh_train_run common = {
        .spec = &target->spec,
        .flags = flags,
        .stop = lh_catch_signals(),
        .run = {.spec = &target->spec, .root = flags->out, .flags = flags_text, .overfit = (int)flags->overfit},
    };
    status = train_all(target, &common, (int)count_runs(flags), lh_cli_count_threads(flags->threads), error);
    free(flags_text);
    return status;
}

lh_status lh_verb_train(const lh_cli *cli, lh_error *error) {
    bool has_printed_help;
    lh_target target;
    lh_train_flags flags;
    lh_status status = read_flags(cli, &flags, &has_printed_help, error);
    if (status != LH_OK || has_printed_help) return status;
    status = lh_target_open(&target, cli->spec, flags.device, error);
    if (status != LH_OK) return status;
    status = train(cli, &target, &flags, error);
    lh_target_close(&target);
    return status;
}
