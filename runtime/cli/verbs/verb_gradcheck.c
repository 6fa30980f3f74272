/* trainer gradcheck: compares analytic with numeric gradients, dropout on. */
#include <stdlib.h>
#include <string.h>

#include "bench/gradcheck.h"
#include "cli/data_files.h"
#include "cli/verbs/verbs.h"

static const lh_verb verb = {
    "gradcheck", "Compares analytic gradients with differences of losses, tensor by tensor, with dropout.",
    "Needs a float64 build: ./longhand build SPEC --set precision=float64 (with --target\n"
    "cpu,cuda for --device cuda). The check computes a step of 3 sequences at slightly different\n"
    "parameters, on the chosen device. The step has 1 sequence if the loss is the mean over sequences\n"
    "and some labels do not count. Next to a kink, such as that of a ReLU at zero, the gradient must be\n"
    "the slope of one side."};

static lh_status print_results(const lh_spec *spec, const lh_gradcheck_result *results, lh_error *error) {
    int failed = 0, checks = 0, kinks = 0, checked = 0;
    printf("%-52s %7s %14s\n", "tensor", "checks", "worst error");
    for (int t = 0; t < spec->tensor_count; t++) {
        if (results[t].checks == 0) continue;
        printf("%-52s %7d %14.2e  %s\n", spec->tensors[t].name, results[t].checks, results[t].worst_error,
               results[t].passed ? "ok" : "WRONG");
        failed += !results[t].passed;
        checks += results[t].checks;
        kinks += results[t].kinks;
        checked++;
    }
    printf("%d checks of %d tensors, %d checks next to a kink of the loss\n", checks, checked, kinks);
    if (failed > 0)
        return lh_fail(error, LH_ERR_INPUT, "%s: the gradients of %d of %d tensors are wrong", spec->id, failed,
                       checked);
    return LH_OK;
}

static lh_status check_lengths(const lh_target *target, const lh_lengths *lengths, uint64_t seed, lh_error *error) {
    const lh_spec *spec = &target->spec;
    lh_status status = lh_check_limit(spec, lengths, error);
    lh_gradcheck_result *results = calloc((size_t)spec->tensor_count, sizeof *results);
    if (status == LH_OK && results == NULL) status = lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for the results");
    for (int i = 0; status == LH_OK && i < lh_lengths_count(lengths); i++)
        status = lh_gradcheck(target, lh_lengths_get(lengths, i), seed, results, error);
    if (status == LH_OK) status = print_results(spec, results, error);
    free(results);
    return status;
}

enum { DEFAULT_LENGTHS = 3 };

/* Writes the lengths that are checked by default; returns their number. If the task length is also the number
 * of passes, no length is greater than the number of passes in training. */
static int choose_default_lengths(const lh_spec *spec, int32_t lengths[DEFAULT_LENGTHS]) {
    static const int32_t usual[DEFAULT_LENGTHS] = {1, 5, 9};
    int count = 0;
    while (count < DEFAULT_LENGTHS) {
        bool is_too_long = spec->passes_by_length && usual[count] >= spec->passes;
        lengths[count] = is_too_long ? spec->passes : usual[count];
        count++;
        if (is_too_long) break;
    }
    return count;
}

lh_status lh_verb_gradcheck(const lh_cli *cli, lh_error *error) {
    int64_t seed = 0;
    const char *device = "cpu";
    bool has_lengths = false, has_printed_help;
    int32_t default_lengths[DEFAULT_LENGTHS];
    int count = choose_default_lengths(cli->spec, default_lengths);
    lh_option_lengths lengths = {.lengths = {.list = default_lengths, .count = count}};
    const lh_option options[] = {
        {"--lengths", LH_OPTION_LENGTHS, &lengths, 0, 0, &has_lengths, "A,B,...", "task lengths (1,5,9)"},
        {"--seed", LH_OPTION_INTEGER, &seed, 0, LH_LARGEST_SEED, NULL, "S", "seed of parameters, data, dropout (0)"},
        {"--device", LH_OPTION_TEXT, &device, 0, 0, NULL, LH_DEVICE_WORDS},
    };
    lh_status status =
        lh_cli_read_options(cli, &verb, options, sizeof options / sizeof *options, &has_printed_help, error);
    if (status != LH_OK || has_printed_help) return status;
    if (strcmp(cli->spec->precision, "float64") != 0)
        return lh_fail(error, LH_ERR_USAGE,
                       "gradcheck: this trainer computes in %s, too coarse for differences\n"
                       "  hint: ./longhand build SPEC --set precision=float64",
                       cli->spec->precision);
    lh_target target;
    status = lh_target_open(&target, cli->spec, device, error);
    if (status != LH_OK) return status;
    status = lh_data_files_choose_shapes(cli->spec, &lengths, has_lengths, error);
    if (status == LH_OK) status = check_lengths(&target, &lengths.lengths, (uint64_t)seed, error);
    lh_target_close(&target);
    return status;
}
