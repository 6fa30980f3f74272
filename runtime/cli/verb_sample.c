/* trainer sample: examples of the task. No model is involved. */
#include <string.h>

#include "cli/cli.h"
#include "cli/symbols.h"
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
    lh_print_symbols(spec->task->input_symbol, spec->task->input_symbols, batch->input, NULL, input_length);
    printf(" -> ");
    lh_print_symbols(spec->task->output_symbol, spec->task->output_symbols, batch->labels, batch->mask,
                     batch->shape.labels);
    printf("\n");
}

lh_status lh_verb_sample(const lh_cli *cli, lh_error *error) {
    static const lh_verb verb = {
        "sample", "Examples of the task as JSON lines: input, target, mask (0: not counted in accuracy).",
        "These are the examples that an evaluation of this length and seed sees."};
    const lh_spec *spec = cli->spec;
    int64_t length = 0, count = 10, seed = LH_EVAL_SEED;
    bool text = false, done;
    const lh_option options[] = {
        {"--length", LH_OPTION_INTEGER, &length, 1, LH_LONGEST_LENGTH, NULL, "N", "task length (required)"},
        {"--count", LH_OPTION_INTEGER, &count, 1, 4294967295.0, NULL, "N", "how many (default 10)"},
        {"--seed", LH_OPTION_INTEGER, &seed, 0, LH_LARGEST_SEED, NULL, "S", "evaluation seed (default 1)"},
        {"--text", LH_OPTION_SWITCH, &text, 0, 0, NULL, NULL, "symbols, with (those not counted) in parentheses"},
    };
    lh_status status = lh_cli_options(cli, &verb, options, sizeof options / sizeof *options, &done, error);
    if (status != LH_OK || done) return status;
    if (length == 0) return lh_fail(error, LH_ERR_USAGE, "--length: missing\n  expected: --length N, the task length");
    lh_batch batch;
    status = lh_batch_open(&batch, spec, (int)length, 1, error);
    if (status != LH_OK) return status;
    lh_source source = {lh_key_of_seed((uint64_t)seed), (uint32_t)length, LH_DOMAIN_EVAL, 0};
    for (int64_t i = 0; i < count && !ferror(stdout); i++) {
        lh_batch_fill(&batch, spec, &source, (int)length, (uint32_t)i, 1);
        if (text) print_text(spec, &batch, spec->task->input_length((int)length));
        else print_json(&batch, spec->task->input_length((int)length));
    }
    lh_batch_close(&batch);
    return LH_OK;
}
