/* trainer sample: prints examples of the task, without a model. */
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "cli/data_files.h"
#include "cli/verbs/verbs.h"
#include "data/datasets/pick.h"
#include "data/symbols/symbols.h"

static void print_json(const lh_batch *batch, int input_length) {
    printf("{\"input\":[");
    for (int i = 0; i < input_length; i++) printf("%s%d", i > 0 ? "," : "", batch->input[i]);
    printf("],\"target\":[");
    for (int i = 0; i < batch->shape.labels; i++) printf("%s%d", i > 0 ? "," : "", batch->labels[i]);
    printf("],\"mask\":[");
    for (int i = 0; i < batch->shape.labels; i++) printf("%s%d", i > 0 ? "," : "", batch->mask[i]);
    putchar(']');
    if (batch->line_positions != NULL) {
        printf(",\"positions\":[");
        for (int i = 0; i < input_length + batch->shape.labels; i++)
            printf("%s%d", i > 0 ? "," : "", batch->line_positions[i]);
        putchar(']');
    }
    printf("}\n");
}

static void print_text(const lh_spec *spec, const lh_batch *batch, int input_length) {
    lh_print_symbols(stdout, spec->task->input_symbol, spec->task->input_symbols, batch->input, NULL, input_length);
    printf(" -> ");
    lh_print_symbols(stdout, spec->task->output_symbol, spec->task->output_symbols, batch->labels, batch->mask,
                     batch->shape.labels);
    printf("\n");
}

/* Makes and prints the example at `index` of a source; batch: a buffer for one example. */
static lh_status print_example(const lh_spec *spec, lh_batch *batch, const lh_source *source, int n, uint32_t index,
                               bool as_text, lh_error *error) {
    lh_status status = lh_batch_fill(batch, spec, source, n, index, 1, error);
    if (status == LH_OK && as_text) print_text(spec, batch, lh_get_input_length(spec, n));
    else if (status == LH_OK) print_json(batch, lh_get_input_length(spec, n));
    return status;
}

/* Prints the first `count` examples at task length n. */
static lh_status print_examples(const lh_spec *spec, const lh_source *source, int n, int64_t count, bool as_text,
                                lh_error *error) {
    lh_batch batch;
    lh_status status = lh_batch_open(&batch, spec, n, 1, error);
    if (status != LH_OK) return status;
    for (int64_t i = 0; status == LH_OK && i < count && !ferror(stdout); i++)
        status = print_example(spec, &batch, source, n, (uint32_t)i, as_text, error);
    lh_batch_close(&batch);
    return status;
}

/* Finds the indices of a set's examples with inputs of this length (0: any); the caller frees them. NULL: no memory. */
static uint32_t *find_examples(const lh_corpus *corpus, const lh_dataset *set, int length, int64_t *example_count) {
    uint32_t *indices = malloc((size_t)set->count * sizeof *indices + 1);
    *example_count = 0;
    for (int n = 1; indices != NULL && n <= corpus->shapes; n++)
        for (int64_t index = set->first[n - 1];
             index < set->first[n] && (length == 0 || corpus->sizes[n - 1].input == length); index++)
            indices[(*example_count)++] = (uint32_t)index;
    return indices;
}

/* Prints the examples of a set at the given indices, in their order. */
static lh_status print_chosen_examples(const lh_spec *spec, const lh_dataset *set, const uint32_t *indices,
                                       int64_t count, bool as_text, lh_error *error) {
    lh_batch batch;
    lh_status status = lh_batch_open(&batch, spec, spec->corpus->shapes, 1, error);
    if (status != LH_OK) return status;
    for (int64_t i = 0; status == LH_OK && i < count && !ferror(stdout); i++) {
        int n = lh_dataset_find_shape(set, spec->corpus->shapes, indices[i]);
        uint32_t index_in_shape = indices[i] - (uint32_t)set->first[n - 1];
        lh_source source = {.domain = LH_DOMAIN_DATA, .set = set, .indices_in_shape = &index_in_shape};
        status = print_example(spec, &batch, &source, n, 0, as_text, error);
    }
    lh_batch_close(&batch);
    return status;
}

/* Prints examples of a set with inputs of this length (0: any), chosen as an evaluation chooses them. */
static lh_status print_set(const lh_spec *spec, const lh_dataset *set, int length, const lh_pick *choice, bool as_text,
                           lh_error *error) {
    int64_t example_count;
    uint32_t *indices = find_examples(spec->corpus, set, length, &example_count);
    if (indices == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for %lld indices", (long long)set->count);
    lh_status status = lh_pick_sort(set, choice, indices, example_count, error);
    if (status == LH_OK && example_count == 0)
        status =
            lh_fail(error, LH_ERR_INPUT, "--length: %s has no example with an input of %d tokens", set->path, length);
    if (status == LH_OK)
        status = print_chosen_examples(spec, set, indices,
                                       example_count < choice->limit ? example_count : choice->limit, as_text, error);
    free(indices);
    return status;
}

lh_status lh_verb_sample(const lh_cli *cli, lh_error *error) {
    static const lh_verb verb = {"sample",
                                 "Prints examples of the task as JSON lines: input, target, mask (0: does not count).",
                                 "The examples are those of an evaluation with this length and seed. For a set of "
                                 "examples, they are examples\n"
                                 "of --split that --seed chooses, or with --order file the first ones."};
    const lh_spec *spec = cli->spec;
    int64_t length = 0, count = 10, seed = LH_EVAL_SEED;
    bool as_text = false, in_order, has_printed_help;
    const char *split = NULL, *order = NULL;
    const lh_dataset *set;
    const lh_option options[] = {
        {"--length", LH_OPTION_INTEGER, &length, 1, LH_LONGEST_LENGTH, NULL, "N",
         "task length (required; sets of examples: all lengths by default)"},
        {"--count", LH_OPTION_INTEGER, &count, 1, 4294967295.0, NULL, "N", "number of examples (10)"},
        {"--seed", LH_OPTION_INTEGER, &seed, 0, LH_LARGEST_SEED, NULL, "S", "evaluation seed (1)"},
        {"--split", LH_OPTION_TEXT, &split, 0, 0, NULL, "NAME", "set of examples: train, test, validation (train)"},
        {"--order", LH_OPTION_TEXT, &order, 0, 0, NULL, "hash|file", "order in a set of examples (the spec's)"},
        {"--text", LH_OPTION_SWITCH, &as_text, 0, 0, NULL, NULL,
         "print symbols instead of JSON; one in parentheses does not count"},
    };
    lh_status status =
        lh_cli_read_options(cli, &verb, options, sizeof options / sizeof *options, &has_printed_help, error);
    if (status != LH_OK || has_printed_help) return status;
    if (length == 0 && spec->corpus == NULL)
        return lh_fail(error, LH_ERR_USAGE, "--length: missing\n  expected: --length N, the task length");
    status = lh_data_files_find_set(spec, split, &set, error);
    if (status == LH_OK) status = lh_data_files_read_order(spec, order, &in_order, error);
    if (status != LH_OK) return status;
    lh_pick choice = {.limit = count, .seed = (uint64_t)seed, .in_order = in_order};
    if (spec->corpus != NULL)
        return print_set(spec, set != NULL ? set : &spec->corpus->train, (int)length, &choice, as_text, error);
    lh_source source = {.key = lh_key_of_seed((uint64_t)seed), .step = (uint32_t)length, .domain = LH_DOMAIN_EVAL};
    return print_examples(spec, &source, (int)length, count, as_text, error);
}
