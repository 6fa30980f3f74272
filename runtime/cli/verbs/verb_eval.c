/* trainer eval: evaluates a checkpoint at any lengths. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "cli/data_files.h"
#include "cli/verbs/verbs.h"
#include "data/datasets/pick.h"
#include "eval/reach.h"

typedef struct flags {
    const char *checkpoint, *per_example, *wrong, *out, *device, *splits, *by, *order, *decoding, *metric;
    lh_option_lengths lengths, passes;
    bool has_lengths, has_passes, has_examples, is_validation, counts_places, resume, finds_reach;
    double level; /* level of --reach */
    int64_t examples, batch, draws, seed, threads;
} flags;

static const lh_verb verb = {
    "eval", "Evaluates the answers of a checkpoint by length, and appends to eval.jsonl in its folder.",
    "For one seed, the examples of a length are the same for every model, run and draw.\n"
    "SIGTERM, SIGUSR1, SIGHUP and Ctrl-C keep the lines of finished conditions and exit with 75; --resume continues.\n"
    "A generative model is evaluated twice. Greedy: it reads its own earlier answers (exact_match, accuracy).\n"
    "Teacher-forced: it reads the target's tokens (accuracy_teacher_forced, loss). With --decoding teacher_forced,\n"
    "only the second evaluation takes place.\n"
    "With --reach, lengths are evaluated from the longest on, because results may rise again at longer lengths. The\n"
    "evaluation ends at the first length whose result is at the level or above with 95% confidence.\n"
    "For sets of examples: --splits names the sets, else the spec's eval.splits. Their examples are evaluated in\n"
    "groups by --lengths or by the axes of --by, else by the spec's eval.by. If a condition has more examples than\n"
    "--examples, --seed chooses among them, and --order file takes the first ones."};

/* If --splits is given and the task is sampled, takes the lengths and the number of examples of eval.validation, unless
 * flags set them. */
static lh_status set_validation(const lh_spec *spec, flags *f, lh_error *error) {
    const lh_eval_defaults *eval = &spec->eval;
    if (f->splits == NULL || spec->corpus != NULL) return LH_OK;
    if (strcmp(f->splits, "validation") != 0)
        return lh_fail(
            error, LH_ERR_USAGE,
            "--splits: %.80s\n  expected: validation; the examples of this task are sampled, and its other splits are "
            "ranges of lengths",
            f->splits);
    f->is_validation = true;
    if (!f->has_lengths && eval->validation_examples == 0)
        return lh_fail(error, LH_ERR_USAGE, "--lengths: missing; the spec has no eval.validation");
    if (!f->has_lengths) f->lengths.lengths = eval->validation_lengths;
    if (!f->has_examples && eval->validation_examples > 0) f->examples = eval->validation_examples;
    return LH_OK;
}

static lh_status read_flags(const lh_cli *cli, flags *f, bool *has_printed_help, lh_error *error) {
    const lh_eval_defaults *eval = &cli->spec->eval;
    *f = (flags){.examples = eval->examples,
                 .batch = eval->batch,
                 .draws = eval->draws,
                 .seed = LH_EVAL_SEED,
                 .device = "cpu",
                 .counts_places = eval->places};
    f->lengths.lengths = eval->lengths;
    f->passes.lengths = eval->passes;
    const lh_option options[] = {
        {"--checkpoint", LH_OPTION_TEXT, &f->checkpoint, 0, 0, NULL, "FILE", "checkpoint (required)"},
        {"--lengths", LH_OPTION_LENGTHS, &f->lengths, 0, 0, &f->has_lengths, "A:B[:STEP]",
         "task lengths, or a list: 41,50,60 (the spec's)"},
        {"--splits", LH_OPTION_TEXT, &f->splits, 0, 0, NULL, "NAMES",
         "sets from train,test,validation (the spec's); a sampled task has only validation"},
        {"--by", LH_OPTION_TEXT, &f->by, 0, 0, NULL, "AXES",
         "axes of a set of examples: length, and those of the task (the spec's)"},
        {"--examples", LH_OPTION_COUNT, &f->examples, 1, 1e7, &f->has_examples, "N",
         "examples per condition, or all (the spec's)"},
        {"--order", LH_OPTION_TEXT, &f->order, 0, 0, NULL, "hash|file", "order in a set of examples (the spec's)"},
        {"--batch", LH_OPTION_INTEGER, &f->batch, 0, 1e7, NULL, "N", "examples that share a draw; 0: all (the spec's)"},
        {"--draws", LH_OPTION_INTEGER, &f->draws, 1, LH_MOST_DRAWS, NULL, "K", "draws per length (the spec's)"},
        {"--decoding", LH_OPTION_TEXT, &f->decoding, 0, 0, NULL, "NAME",
         "greedy or teacher_forced, for generative models (the spec's)"},
        {"--places", LH_OPTION_SWITCH, &f->counts_places, 0, 0, NULL, NULL,
         "also count right answers by place in the target, and first errors (the spec's)"},
        {"--passes", LH_OPTION_LENGTHS, &f->passes, 0, 0, &f->has_passes, "A:B[:STEP]",
         "numbers of passes of a model with loops, or a list: 4,8,16 (the spec's)"},
        {"--reach", LH_OPTION_NUMBER, &f->level, 0, 1, &f->finds_reach, "LEVEL",
         "find the length above which the exact match stays below this level, such as 0.9"},
        {"--metric", LH_OPTION_TEXT, &f->metric, 0, 0, NULL, "NAME",
         "metric of --reach: exact_match (default) or accuracy"},
        {"--seed", LH_OPTION_INTEGER, &f->seed, 0, LH_LARGEST_SEED, NULL, "S", "seed of examples and draws (1)"},
        {"--per-example", LH_OPTION_TEXT, &f->per_example, 0, 0, NULL, "FILE",
         "write one JSON line per example and draw"},
        {"--wrong", LH_OPTION_TEXT, &f->wrong, 0, 0, NULL, "FILE",
         "write 20 wrong answers per length and draw, as JSON lines"},
        {"--out", LH_OPTION_TEXT, &f->out, 0, 0, NULL, "DIR", "folder of eval.jsonl (the checkpoint's folder)"},
        {"--resume", LH_OPTION_SWITCH, &f->resume, 0, 0, NULL, NULL, "only conditions without a line in eval.jsonl"},
        {"--threads", LH_OPTION_INTEGER, &f->threads, 1, 4096, NULL, "N", "threads (all processors)"},
        {"--device", LH_OPTION_TEXT, &f->device, 0, 0, NULL, LH_DEVICE_WORDS},
    };
    lh_status status =
        lh_cli_read_options(cli, &verb, options, sizeof options / sizeof *options, has_printed_help, error);
    if (status == LH_OK && !*has_printed_help) status = set_validation(cli->spec, f, error);
    return status;
}

static lh_status check_decoding(const lh_spec *spec, const char *name, lh_error *error) {
    bool is_valid = name == NULL || strcmp(name, lh_greedy) == 0 || strcmp(name, lh_teacher_forced) == 0;
    if (name == NULL || (is_valid && spec->format->teacher_forced)) return LH_OK;
    return lh_fail(error, LH_ERR_USAGE, "--decoding: %.80s\n  expected: %s", name,
                   spec->format->teacher_forced ? "greedy or teacher_forced"
                                                : "no --decoding, because an encoder computes all answers in one pass");
}

/* The folder of eval.jsonl; the caller frees it. */
static char *get_output_folder(const flags *f) {
    return f->out != NULL ? strdup(f->out) : lh_copy_directory(f->checkpoint);
}

/* Whether a list of names, separated by commas, has a name. */
static bool has_name(const char *list, const char *name) {
    size_t bytes = strlen(name);
    for (; *list != 0; list += strcspn(list, ",") + (strchr(list, ',') != NULL))
        if (strcspn(list, ",") == bytes && strncmp(list, name, bytes) == 0) return true;
    return false;
}

/* Reads --by: requests all values of the named axes. The axes are in the same order as those of eval.by. */
static lh_status read_by(const flags *f, const lh_spec *spec, lh_by *by, lh_error *error) {
    const lh_task *task = spec->task;
    char axis_names[512] = "";
    int names = 1;
    *by = (lh_by){.count = 0};
    if (spec->corpus == NULL || f->has_lengths)
        return lh_fail(error, LH_ERR_USAGE, "--by: %s\n  expected: %s",
                       spec->corpus == NULL ? "this task samples its examples, which differ in length alone"
                                            : "--lengths already groups the examples, by length",
                       spec->corpus == NULL ? "--lengths" : "one of the two flags");
    for (const char *c = f->by; *c != 0; c++) names += *c == ',';
    for (int axis = LH_BY_LENGTH; axis < task->axes; axis++) {
        const char *name = axis == LH_BY_LENGTH ? spec->eval.axis : task->axis[axis];
        size_t used = strlen(axis_names);
        snprintf(axis_names + used, sizeof axis_names - used, "%s%s", used > 0 ? ", " : "", name);
        if (has_name(f->by, name) && by->count < LH_MAX_AXES) {
            by->axes[by->count].axis = axis;
            by->axes[by->count++].all = true;
        }
    }
    if (by->count == names) return LH_OK;
    return lh_fail(error, LH_ERR_USAGE, "--by: %.80s\n  expected: at most %d of %s, each once", f->by, LH_MAX_AXES,
                   axis_names);
}

/* With a dataset, makes the groups of examples to evaluate, by the flags or else by the spec. Refuses --order and --by
 * without a dataset. */
static lh_status open_groups(const flags *f, const lh_spec *spec, lh_groups *groups, lh_error *error) {
    const lh_by by_length = {.count = 1, .axes = {{.axis = LH_BY_LENGTH, .values = f->lengths.lengths}}};
    lh_by by = f->has_lengths ? by_length : spec->eval.by;
    if (f->by != NULL && read_by(f, spec, &by, error) != LH_OK) return LH_ERR_USAGE;
    unsigned sets = f->splits != NULL ? lh_sets_parse(f->splits) : spec->eval.sets;
    if (f->splits != NULL && spec->corpus != NULL && sets == 0)
        return lh_fail(error, LH_ERR_USAGE, "--splits: %.80s\n  expected: some of train,test,validation", f->splits);
    lh_pick choice = {.limit = f->examples, .seed = (uint64_t)f->seed};
    lh_status status = lh_data_files_read_order(spec, f->order, &choice.in_order, error);
    if (status != LH_OK || spec->corpus == NULL) return status;
    status = lh_groups_open(groups, spec->corpus, spec, &by, sets, error);
    return status == LH_OK ? lh_pick_examples(groups, spec->corpus, &choice, error) : status;
}

static const char *get_metric(const flags *f) { return f->metric != NULL ? f->metric : "exact_match"; }

static lh_status check_reach(const lh_spec *spec, const flags *f, lh_error *error) {
    bool is_known_metric = strcmp(get_metric(f), "exact_match") == 0 || strcmp(get_metric(f), "accuracy") == 0;
    if (!is_known_metric)
        return lh_fail(error, LH_ERR_USAGE, "--metric: %.80s\n  expected: exact_match or accuracy", f->metric);
    if (f->metric != NULL && !f->finds_reach)
        return lh_fail(error, LH_ERR_USAGE, "--metric: applies only with --reach");
    if (f->finds_reach && spec->corpus != NULL)
        return lh_fail(error, LH_ERR_USAGE,
                       "--reach: the examples of this trainer are in files\n"
                       "  expected: no such flag; ./longhand report shows the reach of evaluated runs");
    if (f->finds_reach && f->has_passes)
        return lh_fail(error, LH_ERR_USAGE, "--reach and --passes exclude each other; leave out one of them");
    if (f->finds_reach && (f->per_example != NULL || f->wrong != NULL))
        return lh_fail(error, LH_ERR_USAGE, "--reach and %s exclude each other; leave out one of them",
                       f->per_example != NULL ? "--per-example" : "--wrong");
    for (int i = 1; f->finds_reach && i < f->lengths.lengths.count; i++)
        if (f->lengths.lengths.list[i] <= f->lengths.lengths.list[i - 1])
            return lh_fail(error, LH_ERR_USAGE, "--lengths: %d after %d\n  expected: ascending lengths for --reach",
                           f->lengths.lengths.list[i], f->lengths.lengths.list[i - 1]);
    return LH_OK;
}

/* Prints the reach. evaluated: the results of the evaluated lengths, in ascending order. */
static void print_reach(const flags *f, const lh_reach *reach, const lh_eval_result *evaluated) {
    const char *metric = strcmp(get_metric(f), "accuracy") == 0 ? "accuracy" : "exact match";
    const int last = evaluated[reach->evaluated - 1].n;
    if (reach->certain > 0)
        printf("reach: the %s is %g or more at length %d, with 95%% confidence\n", metric, f->level, reach->certain);
    else printf("reach: the %s is %g or more at no length, with 95%% confidence\n", metric, f->level);
    if (reach->possible >= last)
        printf("the %s may be %g or more at longer lengths, too, because %d is the longest evaluated length\n", metric,
               f->level, last);
    else if (reach->possible > reach->certain) {
        /* evaluated[0] has the certain length, if there is one; the next element has the shortest undecided length. */
        const int undecided = evaluated[reach->certain > 0].n;
        printf("the %s is below %g at all lengths from %d to %d; ", metric, f->level, reach->possible + 1, last);
        if (undecided == reach->possible) printf("length %d is", undecided);
        else printf("lengths %d to %d are", undecided, reach->possible);
        printf(" undecided with these examples\n");
    } else
        printf("the %s is below %g at all %slengths up to %d, with 95%% confidence\n", metric, f->level,
               reach->certain > 0 ? "longer " : "", last);
}

/* Evaluates all conditions, and prints the results. path: eval.jsonl; files: the file of --per-example and the file of
 * --wrong; NULL: not requested. */
static lh_status evaluate(const flags *f, const lh_groups *groups, lh_engine *engine, const char *path,
                          FILE *const files[2], lh_error *error) {
    lh_progress progress;
    lh_progress_start(&progress);
    lh_eval_request request = {
        .lengths = f->lengths.lengths,
        .groups = groups->count > 0 ? groups : NULL,
        .noise = f->finds_reach ? (lh_noise){0, NULL} : engine->spec->eval.noise,
        .passes = f->finds_reach ? (lh_lengths){0} : f->passes.lengths,
        .examples = (int)f->examples,
        .batch = (int)f->batch,
        .draws = (int)f->draws,
        .teacher_forced =
            f->decoding != NULL ? strcmp(f->decoding, lh_teacher_forced) == 0 : engine->spec->eval.teacher_forced,
        .seed = (uint64_t)f->seed,
        .is_validation = f->is_validation,
        .has_places = f->counts_places,
        .step = engine->step,
        .path = path,
        .only_missing = f->resume,
        .per_example = files[0],
        .wrong = files[1],
        .per_example_path = f->per_example,
        .wrong_path = f->wrong,
        .watch = lh_progress_show_evaluation,
        .context = &progress,
    };
    int count = lh_count_eval_conditions(&request);
    lh_eval_result *results = lh_engine_allocate((size_t)count * sizeof *results, "the evaluation", error);
    if (results == NULL) return LH_ERR_ENVIRONMENT;
    lh_reach reach;
    lh_status status = f->finds_reach ? lh_find_reach(engine, &request, strcmp(get_metric(f), "accuracy") == 0,
                                                      f->level, results, &reach, error)
                                      : lh_evaluate(engine, &request, results, error);
    lh_progress_erase(&progress);
    if (status == LH_OK) {
        int first = f->finds_reach ? count - reach.evaluated : 0;
        lh_print_evaluation(engine->spec, results + first, count - first);
        if (f->finds_reach) print_reach(f, &reach, results + first);
        printf("%s\n", path);
    }
    free(results);
    return status;
}

static lh_status evaluate_to_files(const flags *f, const lh_groups *groups, lh_engine *engine, const char *path,
                                   lh_error *error) {
    const char *const paths[] = {f->per_example, f->wrong};
    FILE *files[] = {NULL, NULL};
    lh_status status = LH_OK;
    for (int i = 0; status == LH_OK && i < 2; i++)
        if (paths[i] != NULL && (files[i] = fopen(paths[i], "w")) == NULL)
            status = lh_fail(error, LH_ERR_ENVIRONMENT, "%s: cannot open: %s", paths[i], strerror(errno));
    if (status == LH_OK) status = evaluate(f, groups, engine, path, files, error);
    for (int i = 0; i < 2; i++)
        if (files[i] != NULL && fclose(files[i]) != 0 && status == LH_OK)
            status = lh_fail(error, LH_ERR_ENVIRONMENT, "%s: cannot write: %s", paths[i], strerror(errno));
    return status;
}

static lh_status evaluate_in_folder(const flags *f, const lh_groups *groups, lh_engine *engine, lh_error *error) {
    int lock;
    bool is_exclusive;
    char *path = NULL, *folder = get_output_folder(f);
    lh_status status = LH_OK;
    if (folder == NULL || asprintf(&path, "%s/eval.jsonl", folder) < 0)
        status = lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for a path");
    if (status == LH_OK && f->out != NULL) status = lh_make_directories(folder, error);
    if (status == LH_OK) status = lh_lock_directory(folder, &lock, &is_exclusive, error);
    if (status == LH_OK) {
        if (!is_exclusive) lh_warn_unlocked(folder);
        status = evaluate_to_files(f, groups, engine, path, error);
        lh_unlock_directory(lock);
    }
    free(folder);
    free(path);
    return status;
}

lh_status lh_verb_eval(const lh_cli *cli, lh_error *error) {
    flags f;
    bool has_printed_help;
    lh_cli_model model;
    lh_groups groups = {.count = 0};
    lh_status status = read_flags(cli, &f, &has_printed_help, error);
    if (status != LH_OK || has_printed_help) return status;
    if (lh_lengths_count(&f.lengths.lengths) == 0)
        return lh_fail(error, LH_ERR_USAGE, "--lengths: missing; the spec has none");
    if (f.examples == 0 && cli->spec->corpus == NULL)
        return lh_fail(error, LH_ERR_USAGE,
                       "--examples all: this trainer samples its examples, whose number is unlimited\n"
                       "  expected: a number");
    status = check_decoding(cli->spec, f.decoding, error);
    if (status == LH_OK) status = check_reach(cli->spec, &f, error);
    if (status != LH_OK) return status;
    if (f.wrong != NULL && cli->spec->eval.noise.count > 0 && cli->spec->eval.noise.deviation[0] > 0)
        return lh_fail(error, LH_ERR_USAGE,
                       "--wrong: only answers without noise are written, but eval.by.noise begins at %g\n"
                       "  expected: 0 among eval.by.noise",
                       cli->spec->eval.noise.deviation[0]);
    if (f.resume && (f.per_example != NULL || f.wrong != NULL))
        return lh_fail(error, LH_ERR_USAGE,
                       "--resume and %s exclude each other, because that file would lack earlier conditions",
                       f.per_example != NULL ? "--per-example" : "--wrong");
    status = lh_try_lengths(cli->spec->task, &f.lengths.lengths, lh_key_of_seed((uint64_t)f.seed), error);
    if (status != LH_OK) return status;
    status = open_groups(&f, cli->spec, &groups, error);
    if (status == LH_OK) status = lh_cli_open_checkpoint(&model, cli->spec, f.checkpoint, f.device, f.threads, error);
    if (status == LH_OK) {
        model.engine->stop = lh_catch_signals();
        status = evaluate_in_folder(&f, &groups, model.engine, error);
        lh_cli_close_checkpoint(&model);
    }
    lh_groups_close(&groups);
    return status;
}
