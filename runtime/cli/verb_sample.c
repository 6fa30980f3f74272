/* trainer sample: examples of the task. No model is involved. */
#include <string.h>

#include "cli/cli.h"
#include "cli/data_files.h"
#include "data/symbols.h"
#include "train/json_text.h"

static void print_json(const lh_batch *batch, int input_length) {
    printf("{\"input\":[");
    for (int i = 0; i < input_length; i++) printf("%s%d", i > 0 ? "," : "", batch->input[i]);
    printf("],\"target\":[");
    for (int i = 0; i < batch->shape.labels; i++) printf("%s%d", i > 0 ? "," : "", batch->labels[i]);
    printf("],\"mask\":[");
    for (int i = 0; i < batch->shape.labels; i++) printf("%s%d", i > 0 ? "," : "", batch->mask[i]);
    printf("]}\n");
}

static void print_text(const lh_spec *spec, const lh_batch *batch, int input_length) {
    lh_print_symbols(stdout, spec->task->input_symbol, spec->task->input_symbols, batch->input, NULL, input_length);
    printf(" -> ");
    lh_print_symbols(stdout, spec->task->output_symbol, spec->task->output_symbols, batch->labels, batch->mask,
                     batch->shape.labels);
    printf("\n");
}

/* Examples first .. first + count - 1 at task length n, or of shape n. */
static lh_status print_examples(const lh_spec *spec, const lh_source *source, int n, int64_t count, bool text,
                                lh_error *error) {
    lh_batch batch;
    lh_status status = lh_batch_open(&batch, spec, n, 1, error);
    if (status != LH_OK) return status;
    for (int64_t i = 0; status == LH_OK && i < count && !ferror(stdout); i++) {
        status = lh_batch_fill(&batch, spec, source, n, (uint32_t)i, 1, error);
        if (status == LH_OK && text) print_text(spec, &batch, lh_input_length(spec, n));
        else if (status == LH_OK) print_json(&batch, lh_input_length(spec, n));
    }
    lh_batch_close(&batch);
    return status;
}

/* Examples of a set with inputs of this length, in the file's order within each shape. */
static lh_status print_file(const lh_spec *spec, const lh_dataset *set, int length, int64_t count, bool text,
                            lh_error *error) {
    const lh_corpus *corpus = spec->corpus;
    lh_source source = {.domain = LH_DOMAIN_DATA, .set = set};
    lh_status status = LH_OK;
    int64_t found = 0;
    for (int n = 1; status == LH_OK && n <= corpus->shapes; n++) {
        int64_t here = corpus->sizes[n - 1].input == length ? lh_dataset_count(set, n) : 0;
        found += here;
        if (here > count) here = count;
        if (here > 0) status = print_examples(spec, &source, n, here, text, error);
        count -= here;
    }
    if (status != LH_OK || found > 0) return status;
    return lh_fail(error, LH_ERR_INPUT, "--length: %s has no example with an input of %d tokens", set->path, length);
}

lh_status lh_verb_sample(const lh_cli *cli, lh_error *error) {
    static const lh_verb verb = {
        "sample", "Examples of the task as JSON lines: input, target, mask (0: not counted in accuracy).",
        "These are the examples that an evaluation of this length and seed sees; of finite data, training examples."};
    const lh_spec *spec = cli->spec;
    int64_t length = 0, count = 10, seed = LH_EVAL_SEED;
    bool text = false, seeded = false, done;
    const char *split = NULL;
    const lh_dataset *set;
    const lh_option options[] = {
        {"--length", LH_OPTION_INTEGER, &length, 1, LH_LONGEST_LENGTH, NULL, "N", "task length (required)"},
        {"--count", LH_OPTION_INTEGER, &count, 1, 4294967295.0, NULL, "N", "how many (default 10)"},
        {"--seed", LH_OPTION_INTEGER, &seed, 0, LH_LARGEST_SEED, &seeded, "S", "evaluation seed (default 1)"},
        {"--split", LH_OPTION_TEXT, &split, 0, 0, NULL, "NAME", "of finite data: train, test, validation (train)"},
        {"--text", LH_OPTION_SWITCH, &text, 0, 0, NULL, NULL, "symbols, with (those not counted) in parentheses"},
    };
    lh_status status = lh_cli_options(cli, &verb, options, sizeof options / sizeof *options, &done, error);
    if (status != LH_OK || done) return status;
    if (length == 0) return lh_fail(error, LH_ERR_USAGE, "--length: missing\n  expected: --length N, the task length");
    if (spec->corpus != NULL && seeded)
        return lh_fail(error, LH_ERR_USAGE, "--seed: the examples of a file are not drawn");
    status = lh_data_files_set(spec, split, &set, error);
    if (status != LH_OK) return status;
    if (spec->corpus != NULL)
        return print_file(spec, set != NULL ? set : &spec->corpus->train, (int)length, count, text, error);
    lh_source source = {lh_key_of_seed((uint64_t)seed), (uint32_t)length, LH_DOMAIN_EVAL, 0, NULL, NULL};
    return print_examples(spec, &source, (int)length, count, text, error);
}
