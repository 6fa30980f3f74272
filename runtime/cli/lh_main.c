/* The program of a trainer: its verbs and their exit codes. */
#include "longhand/main.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/data_files.h"
#include "cli/train/verb_train.h"
#include "cli/verbs/verbs.h"
#include "training/defaults.h"

/* When a verb reads the examples of the spec's dataset: never, always, or unless --input or --text is given. */
typedef enum data_use { NEVER, ALWAYS, UNLESS_INPUT } data_use;

static const struct {
    const char *name;
    lh_verb_function *run;
    const char *summary;
    data_use data;
    const char *advice; /* printed after a clean stop by a signal; NULL: a signal ends the verb at once */
} verbs[] = {
    {"info", lh_verb_info, "the spec and targets of this trainer, and its choices on this machine", NEVER, NULL},
    {"train", lh_verb_train, "train, then evaluate", ALWAYS, "the same command with --resume continues"},
    {"eval", lh_verb_eval, "evaluate a checkpoint at any lengths", ALWAYS,
     "eval.jsonl has the finished conditions; --resume evaluates the others"},
    {"sample", lh_verb_sample, "examples of the task", ALWAYS, NULL},
    {"predict", lh_verb_predict, "logits for inputs of your own", NEVER, NULL},
    {"trace", lh_verb_trace, "attention, scores, activations, entropy of attention, as tensors of a file", UNLESS_INPUT,
     "nothing was written"},
    {"gradcheck", lh_verb_gradcheck, "comparison of analytic and numeric gradients", ALWAYS, NULL},
    {"bench", lh_verb_bench, "steps per second, and the share of this machine's peak", ALWAYS, NULL},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static void print_usage(FILE *out, const lh_spec *spec, const char *program) {
    fprintf(out, "usage: %s VERB [flags]\n\ntrainer of %s, plan %s\n\n", program, spec->id, spec->plan_digest);
    for (int i = 0; i < VERBS; i++) fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
    fprintf(out, "\n%s VERB --help lists the flags of a verb.\n", program);
}

static const char *get_file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int find_verb(const char *name) {
    for (int i = 0; i < VERBS; i++)
        if (strcmp(verbs[i].name, name) == 0) return i;
    return -1;
}

static void print_error(const char *program, int verb, lh_status status, const lh_error *error) {
    if (error->text[0] != 0) fprintf(stderr, "%s: error: %s\n", program, error->text);
    else if (status == LH_STOPPED) fprintf(stderr, "%s: stopped by a signal; %s\n", program, verbs[verb].advice);
}

static bool is_flag(const char *word, const char *flag) {
    size_t bytes = strlen(flag);
    return strncmp(word, flag, bytes) == 0 && (word[bytes] == 0 || word[bytes] == '=');
}

static bool reads_examples(data_use data, const lh_cli *cli) {
    for (int i = 0; data == UNLESS_INPUT && i < cli->argc; i++)
        if (is_flag(cli->argv[i], "--input") || is_flag(cli->argv[i], "--text")) return false;
    return data != NEVER;
}

static lh_status run_verb(int verb, lh_cli *cli, lh_error *error) {
    lh_data_files files = {.is_open = false};
    lh_status status = reads_examples(verbs[verb].data, cli) ? lh_data_files_open(&files, cli, error) : LH_OK;
    if (status == LH_OK) status = verbs[verb].run(cli, error);
    lh_data_files_close(&files);
    if (status == LH_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = lh_fail(error, LH_ERR_ENVIRONMENT, "the output could not be written");
    return status;
}

int lh_main(const lh_spec *spec, int argc, char **argv) {
    const char *program = argc > 0 ? get_file_name(argv[0]) : "trainer";
    if (spec->abi != LH_ABI) {
        fprintf(
            stderr,
            "%s: error: generated for runtime interface %d, but the runtime has interface %d; run: ./longhand build\n",
            program, spec->abi, LH_ABI);
        return LH_ERR_STALE;
    }
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        print_usage(stdout, spec, program);
        return LH_OK;
    }
    if (argc < 2) {
        print_usage(stderr, spec, program);
        return LH_ERR_USAGE;
    }
    int verb = find_verb(argv[1]);
    if (verb < 0) {
        const char *closest_name = lh_find_nearest_name(argv[1], &verbs[0].name, VERBS, sizeof verbs[0]);
        fprintf(stderr, "%s: error: no such verb: %.80s\n  hint: %s%s%s\n", program, argv[1],
                closest_name != NULL ? "did you mean " : "", closest_name != NULL ? closest_name : program,
                closest_name != NULL ? "?" : " --help");
        return LH_ERR_USAGE;
    }
    signal(SIGXFSZ, SIG_IGN); /* a file that reaches a size limit is an error to report and must not end the process */
    lh_error error = {""};
    lh_defaults defaults;
    lh_cli cli = {.spec = &defaults.spec,
                  .program = program,
                  .argc = argc - 2,
                  .argv = argv + 2,
                  .reads_data = verbs[verb].data != NEVER};
    lh_status status = lh_defaults_open(&defaults, spec, &error);
    if (status == LH_OK) status = run_verb(verb, &cli, &error);
    lh_defaults_close(&defaults);
    if (status != LH_OK) print_error(program, verb, status, &error);
    return status;
}
