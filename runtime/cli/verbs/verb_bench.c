/* trainer bench: steps per second, and the share of this machine's peak. */
#include <math.h>
#include <string.h>

#include "base/json_text.h"
#include "bench/bench.h"
#include "bench/bench_decode.h"
#include "cli/data_files.h"
#include "cli/verbs/verbs.h"

static const char *const part_names[LH_PARTS] = {
    [LH_PART_SAMPLING] = "sampling", [LH_PART_ATTENTION] = "attention", [LH_PART_EXPONENTIALS] = "exponentials",
    [LH_PART_PRODUCTS] = "products", [LH_PART_OPTIMISER] = "optimiser", [LH_PART_WAITING] = "waiting",
    [LH_PART_REST] = "rest",
};

static const char *const mode_names[] = {[LH_MODE_TRAIN] = "train", [LH_MODE_EVALUATE] = "eval"};

enum { ALL_MODES = 1 << LH_MODE_TRAIN | 1 << LH_MODE_EVALUATE };

static lh_status parse_mode(const char *word, unsigned *modes, lh_error *error) {
    *modes = ALL_MODES;
    if (word == NULL) return LH_OK;
    if (strcmp(word, mode_names[LH_MODE_TRAIN]) == 0) *modes = 1 << LH_MODE_TRAIN;
    else if (strcmp(word, mode_names[LH_MODE_EVALUATE]) == 0) *modes = 1 << LH_MODE_EVALUATE;
    else return lh_fail(error, LH_ERR_USAGE, "--mode: '%.40s'\n  expected: train or eval", word);
    return LH_OK;
}

/* The share of the measured time that the same work would take if multiply-adds ran at the peak, and exponentials at
 * their measured speed. */
static double compute_share_of_limit(const lh_bench_result *r) {
    return r->flops_per_second / r->peak + r->parts[LH_PART_EXPONENTIALS];
}

/* Prints the shares of parts as a JSON object. */
static void print_parts(const lh_bench_result *r) {
    lh_json parts;
    printf(",\"parts\":");
    lh_json_begin(&parts, stdout);
    for (int i = 0; i < LH_PARTS; i++) lh_json_number(&parts, part_names[i], r->parts[i]);
    lh_json_end(&parts);
}

static void print_json(const lh_bench_result *r) {
    lh_json json;
    lh_json_begin(&json, stdout);
    lh_json_string(&json, "mode", mode_names[r->mode]);
    lh_json_integer(&json, "length", r->length);
    lh_json_integer(&json, "tokens", r->tokens);
    lh_json_integer(&json, "replicas", r->replicas);
    lh_json_integer(&json, "threads", r->threads);
    lh_json_number(&json, "steps_per_second", r->steps_per_second);
    lh_json_number(&json, "processor_seconds_per_step", r->processor_seconds);
    lh_json_number(&json, "flops_per_second", r->flops_per_second);
    lh_json_number(&json, "peak_flops_per_second", r->peak);
    lh_json_number(&json, "share_of_peak", r->peak > 0 ? r->flops_per_second / r->peak : NAN);
    lh_json_number(&json, "share_of_peak_nominal", r->peak > 0 ? r->nominal_per_second / r->peak : NAN);
    lh_json_number(&json, "share_of_limit", r->peak > 0 ? compute_share_of_limit(r) : NAN);
    print_parts(r);
    lh_json_end_line(&json);
}

static void print_head(const lh_target *target) {
    if (target->cpu != NULL) printf("%s, level %s\n", target->spec.id, target->cpu->level);
    else
        printf("%s, sm_%d (%s); code: %s\n", target->spec.id, target->cuda.architecture, target->cuda.name,
               target->cuda.image);
    printf("%-5s %6s %6s %8s %7s %9s %8s %8s %6s %7s %6s", "mode", "length", "tokens", "replicas", "threads", "steps/s",
           "GFLOP/s", "peak", "share", "nominal", "limit");
    for (int i = 0; i < LH_PARTS; i++) printf(" %12s", part_names[i]);
    printf("\n");
}

static void print_text(const lh_bench_result *r) {
    printf("%-5s %6d %6d %8d %7d %9.2f %8.1f %8.1f", mode_names[r->mode], r->length, r->tokens, r->replicas, r->threads,
           r->steps_per_second, 1e-9 * r->flops_per_second, 1e-9 * r->peak);
    if (r->peak > 0)
        printf(" %5.1f%% %6.1f%% %5.1f%%", 100.0 * r->flops_per_second / r->peak,
               100.0 * r->nominal_per_second / r->peak, 100.0 * compute_share_of_limit(r));
    else printf(" %6s %7s %6s", "-", "-", "-");
    for (int i = 0; i < LH_PARTS; i++) printf(" %11.1f%%", 100.0 * r->parts[i]);
    printf("\n");
}

static void print_decoding(const lh_bench_decoding *r, bool as_json) {
    lh_json line;
    if (!as_json) {
        printf("decode %5d  answer tokens per second (%d per sequence): %.0f for %d sequences (threads %d), "
               "%.0f for one, %.0f by passes\n",
               r->length, r->labels, r->batch, r->sequences, r->threads, r->single, r->passes);
        return;
    }
    lh_json_begin(&line, stdout);
    lh_json_string(&line, "mode", "decode");
    lh_json_integer(&line, "length", r->length);
    lh_json_integer(&line, "answers", r->labels);
    lh_json_integer(&line, "sequences", r->sequences);
    lh_json_integer(&line, "threads", r->threads);
    lh_json_number(&line, "answers_per_second", r->batch);
    lh_json_number(&line, "answers_per_second_alone", r->single);
    lh_json_number(&line, "answers_per_second_by_passes", r->passes);
    lh_json_end_line(&line);
}

static lh_status bench_decoding(const lh_bench_request *request, bool as_json, lh_error *error) {
    lh_bench_decoding result;
    lh_status status =
        lh_bench_decode(request->target, request->length, request->threads, request->seconds, &result, error);
    if (status == LH_OK) print_decoding(&result, as_json);
    return status;
}

/* Measures the requested modes (1 << mode) at one task length; with all modes and without --replicas also decoding, if
 * the program caches keys and values. */
static lh_status bench_length(lh_bench_request *request, unsigned modes, bool as_json, lh_error *error) {
    static const lh_mode order[] = {LH_MODE_TRAIN, LH_MODE_EVALUATE};
    for (int i = 0; i < 2; i++) {
        lh_bench_result result;
        if (!(modes >> order[i] & 1)) continue;
        request->mode = order[i];
        lh_status status = lh_bench(request, &result, error);
        if (status != LH_OK) return status;
        if (as_json) print_json(&result);
        else print_text(&result);
        fflush(stdout);
    }
    if (modes == ALL_MODES && request->replicas == 0 && lh_bench_decodes(request->target))
        return bench_decoding(request, as_json, error);
    return LH_OK;
}

lh_status lh_verb_bench(const lh_cli *cli, lh_error *error) {
    static const lh_verb verb = {
        "bench",
        "Measures steps per second by task length; a step includes sampling, dropout, clipping and the optimiser.",
        "The peak is the speed of a loop of multiply-adds on the same threads; loop and steps alternate; all speeds "
        "are medians.\n"
        "The share counts the executed operations; the nominal share counts the dense operations of the model.\n"
        "The peak does not count the exponentials of the softmax. The column limit is the share of the peak plus the\n"
        "share of the time that exponentials take. The remaining time goes neither to multiply-adds at their peak\n"
        "rate nor to exponentials.\n"
        "With --replicas R, R models run side by side, one thread each; steps/s counts the steps of all of them.\n"
        "On a CUDA device, the peak and the processor seconds of a step are unknown (--json: null), and threads and "
        "parts\n"
        "are those of the host, which makes the batches.\n"
        "The parts of the time of all threads come from separately timed steps; their sum is 100%. The part rest is\n"
        "normalisation, dropout, embedding, loss, packing of weights and sums of gradients.\n"
        "For generative models, bench also measures answer tokens per second on the processor: of a batch, and\n"
        "of one sequence on one thread, both with cached keys and values; and of this sequence with a pass for each\n"
        "answer token."};
    static const int32_t default_lengths[] = {20, 40};
    lh_option_lengths lengths = {.lengths = {.list = default_lengths, .count = 2}};
    int64_t threads = 0, replicas = 0;
    double seconds = 3.0;
    const char *device = "cpu", *mode = NULL;
    unsigned modes;
    int64_t windows = LH_BENCH_WINDOWS;
    bool as_json = false, has_lengths = false, has_printed_help;
    const lh_option options[] = {
        {"--lengths", LH_OPTION_LENGTHS, &lengths, 0, 0, &has_lengths, "A,B,...", "task lengths (20,40)"},
        {"--mode", LH_OPTION_TEXT, &mode, 0, 0, NULL, "MODE", "only train or only eval (both, and decoding)"},
        {"--seconds", LH_OPTION_NUMBER, &seconds, 0.01, 3600, NULL, "N", "seconds per mode and length (3)"},
        {"--windows", LH_OPTION_INTEGER, &windows, 1, LH_BENCH_WINDOWS, NULL, "N", "time windows for medians (9)"},
        {"--replicas", LH_OPTION_INTEGER, &replicas, 1, 65536, NULL, "R", "models side by side (one on all threads)"},
        {"--threads", LH_OPTION_INTEGER, &threads, 1, 4096, NULL, "N", "threads (all processors)"},
        {"--device", LH_OPTION_TEXT, &device, 0, 0, NULL, LH_DEVICE_WORDS},
        {"--json", LH_OPTION_SWITCH, &as_json, 0, 0, NULL, NULL, "print one JSON object per line"},
    };
    lh_status status =
        lh_cli_read_options(cli, &verb, options, sizeof options / sizeof *options, &has_printed_help, error);
    if (status != LH_OK || has_printed_help) return status;
    status = parse_mode(mode, &modes, error);
    if (status != LH_OK) return status;
    lh_target target;
    status = lh_target_open(&target, cli->spec, device, error);
    if (status != LH_OK) return status;
    status = lh_data_files_choose_shapes(cli->spec, &lengths, has_lengths, error);
    if (status == LH_OK) status = lh_check_limit(cli->spec, &lengths.lengths, error);
    if (status == LH_OK && !as_json) print_head(&target);
    lh_bench_request request = {.target = &target,
                                .threads = lh_cli_count_threads(threads),
                                .replicas = (int)replicas,
                                .seconds = seconds,
                                .windows = (int)windows};
    for (int i = 0; status == LH_OK && i < lh_lengths_count(&lengths.lengths); i++) {
        request.length = lh_lengths_get(&lengths.lengths, i);
        status = bench_length(&request, modes, as_json, error);
    }
    lh_target_close(&target);
    return status;
}
