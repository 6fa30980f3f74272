/* The verbs of a trainer, and what they share. */
#include "longhand/main.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/level.h"
#include "base/team.h"
#include "cli/cli.h"
#include "cli/data_files.h"
#include "training/defaults.h"

typedef enum reading { NOTHING, EXAMPLES, UNLESS_INPUT /* examples, but not where inputs are given */ } reading;

static const struct {
    const char *name;
    lh_verb_function *run;
    const char *summary;
    reading data;      /* of files, where the spec has finite data */
    const char *going; /* how it goes on after a signal; NULL: the signal ends it at once */
} verbs[] = {
    {"info", lh_verb_info, "what this trainer was built for, and what it uses here", NOTHING, NULL},
    {"train", lh_verb_train, "train, then evaluate", EXAMPLES, "the same command with --resume goes on"},
    {"eval", lh_verb_eval, "evaluate a checkpoint at any lengths", EXAMPLES,
     "eval.jsonl has what was through; --resume evaluates the rest"},
    {"sample", lh_verb_sample, "examples of the task", EXAMPLES, NULL},
    {"predict", lh_verb_predict, "logits for inputs of your own", NOTHING, NULL},
    {"trace", lh_verb_trace, "attention, scores, activations, entropy of attention, as tensors of a file", UNLESS_INPUT,
     "nothing was written"},
    {"gradcheck", lh_verb_gradcheck, "analytic against numeric gradients", EXAMPLES, NULL},
    {"bench", lh_verb_bench, "steps per second, and the share of this machine's peak", EXAMPLES, NULL},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static void usage(FILE *out, const lh_spec *spec, const char *program) {
    fprintf(out, "usage: %s VERB [flags]\n\ntrainer of %s, plan %s\n\n", program, spec->id, spec->plan_digest);
    for (int i = 0; i < VERBS; i++) fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
    fprintf(out, "\n%s VERB --help lists the flags of a verb.\n", program);
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int find_verb(const char *name) {
    for (int i = 0; i < VERBS; i++)
        if (strcmp(verbs[i].name, name) == 0) return i;
    return -1;
}

static void report(const char *program, int verb, lh_status status, const lh_error *error) {
    if (error->text[0] != 0) fprintf(stderr, "%s: error: %s\n", program, error->text);
    else if (status == LH_STOPPED) fprintf(stderr, "%s: stopped by a signal; %s\n", program, verbs[verb].going);
}

static bool is_flag(const char *word, const char *flag) {
    size_t bytes = strlen(flag);
    return strncmp(word, flag, bytes) == 0 && (word[bytes] == 0 || word[bytes] == '=');
}

static bool reads_examples(reading data, const lh_cli *cli) {
    for (int i = 0; data == UNLESS_INPUT && i < cli->argc; i++)
        if (is_flag(cli->argv[i], "--input") || is_flag(cli->argv[i], "--text")) return false;
    return data != NOTHING;
}

static lh_status run_verb(int verb, lh_cli *cli, lh_error *error) {
    lh_data_files files = {.open = false};
    lh_status status = reads_examples(verbs[verb].data, cli) ? lh_data_files_open(&files, cli, error) : LH_OK;
    if (status == LH_OK) status = verbs[verb].run(cli, error);
    lh_data_files_close(&files);
    if (status == LH_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = lh_fail(error, LH_ERR_ENVIRONMENT, "the output could not be written");
    return status;
}

int lh_main(const lh_spec *spec, int argc, char **argv) {
    const char *program = argc > 0 ? file_name(argv[0]) : "trainer";
    if (spec->abi != LH_ABI) {
        fprintf(stderr, "%s: error: generated for runtime interface %d, this is %d; run: ./longhand build\n", program,
                spec->abi, LH_ABI);
        return LH_ERR_STALE;
    }
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        usage(stdout, spec, program);
        return LH_OK;
    }
    if (argc < 2) {
        usage(stderr, spec, program);
        return LH_ERR_USAGE;
    }
    int verb = find_verb(argv[1]);
    if (verb < 0) {
        const char *near = lh_nearest_name(argv[1], &verbs[0].name, VERBS, sizeof verbs[0]);
        fprintf(stderr, "%s: error: no such verb: %.80s\n  hint: %s%s%s\n", program, argv[1],
                near != NULL ? "did you mean " : "", near != NULL ? near : program, near != NULL ? "?" : " --help");
        return LH_ERR_USAGE;
    }
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error to report, not the end of the process */
    lh_error error = {""};
    lh_defaults defaults;
    lh_cli cli = {&defaults.spec, program, argc - 2, argv + 2};
    lh_status status = lh_defaults_open(&defaults, spec, &error);
    if (status == LH_OK) status = run_verb(verb, &cli, &error);
    lh_defaults_close(&defaults);
    if (status != LH_OK) report(program, verb, status, &error);
    return status;
}

static void help_data(const lh_spec *spec, const char *verb) {
    int index = find_verb(verb);
    if (index < 0 || verbs[index].data == NOTHING) return;
    printf("\n%s:\n", spec->task->collect != NULL ? "This trainer makes its examples at the start"
                                                  : "This trainer's examples are in files");
    lh_data_files_help(stdout, spec);
}

lh_status lh_cli_options(const lh_cli *cli, const lh_verb *verb, const lh_option *options, int count, bool *done,
                         lh_error *error) {
    lh_status status = lh_options_parse(verb, options, count, cli->argc, cli->argv, done, error);
    if (status == LH_OK && *done) {
        lh_options_help(stdout, cli->program, verb, options, count);
        if (cli->spec->data != NULL) help_data(cli->spec, verb->name);
    }
    return status;
}

lh_status lh_cli_program(const lh_spec *spec, const lh_cpu_program **program, lh_error *error) {
    if (spec->cpu == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "this trainer has no CPU half");
    return lh_level_choose(spec->cpu, program, error);
}

void lh_warn_unlocked(const char *directory) {
    static bool told;
    if (!told)
        fprintf(stderr,
                "warning: %s: this file system has no locks, so that nothing keeps a second process out\n"
                "  two that write to one folder spoil its files: do not train or evaluate one run from two places\n",
                directory);
    told = true;
}

int lh_cli_threads(int64_t asked) { return asked > 0 ? (int)asked : lh_team_processors(); }

static lh_status load_checkpoint(lh_engine *engine, const char *checkpoint, lh_error *error) {
    lh_state state;
    int64_t step;
    lh_status status = lh_state_open(&state, engine, false, error);
    if (status != LH_OK) return status;
    status = lh_checkpoint_read_parameters(checkpoint, engine->spec, state.real_bytes, state.parameters, &step, error);
    if (status == LH_OK) status = engine->ops->write_state(engine, &state, step, error);
    lh_state_close(&state);
    return status;
}

lh_status lh_cli_open_checkpoint(lh_cli_model *model, const lh_spec *spec, const char *checkpoint, const char *device,
                                 int64_t threads, lh_error *error) {
    model->engine = NULL;
    if (checkpoint == NULL) return lh_fail(error, LH_ERR_USAGE, "--checkpoint: missing\n  expected: --checkpoint FILE");
    lh_status status = lh_target_open(&model->target, spec, device, error);
    if (status != LH_OK) return status;
    lh_engine_config config = {.spec = &model->target.spec, .threads = lh_cli_threads(threads)};
    status = lh_target_engines(&model->target, &config, 1, false, &model->engine, error);
    if (status == LH_OK) status = load_checkpoint(model->engine, checkpoint, error);
    if (status != LH_OK) lh_cli_close_checkpoint(model);
    return status;
}

void lh_cli_close_checkpoint(lh_cli_model *model) {
    if (model->engine != NULL) model->engine->ops->close(model->engine);
    lh_target_close(&model->target);
}
