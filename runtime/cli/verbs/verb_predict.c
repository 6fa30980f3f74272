/* trainer predict: prints the logits for a user's inputs, one JSON line each, or the answer to one text. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verbs/input.h"
#include "cli/verbs/verbs.h"
#include "data/symbols/symbols.h"
#include "data/start_noise.h"
#include "eval/decode.h"

/* The state of predictions. The fields from `input` on belong to one input. */
typedef struct prediction {
    const lh_spec *spec;
    lh_engine *engine;
    int64_t line;     /* number of the line of standard input, from 1 */
    int64_t seed;     /* evaluation seed */
    uint32_t example; /* index of the input, which selects the random draws of its sequence */
    lh_input input;
    lh_query query;
    double *logits;
    uint16_t *answers;
    int length; /* number of answers; fewer than labels if the sequence has ended */
} prediction;

static lh_status compute_answers(prediction *p, lh_error *error) {
    int n = p->input.n;
    lh_shape shape = lh_make_shape(p->spec, n, 1);
    /* With a dataset, n is the index of a shape: 1 for the line, 2 for the maximum lengths so far (lh_line_shapes). */
    int last_n = p->spec->corpus != NULL ? 2 : n;
    lh_lengths lengths = {.first = n, .last = last_n};
    lh_status status = p->engine->ops->reserve(p->engine, &lengths, 1, error);
    if (status != LH_OK) return status;
    p->logits = calloc((size_t)shape.labels * (size_t)p->spec->classes, sizeof *p->logits);
    p->answers = calloc((size_t)shape.labels, sizeof *p->answers);
    if (p->logits == NULL || p->answers == NULL)
        return lh_fail(error, LH_ERR_ENVIRONMENT, "line %lld: no memory", (long long)p->line);
    lh_query query = lh_input_make_query(&p->input);
    query.draw = lh_make_condition(lh_get_reported_length(p->spec, n), 1, (uint64_t)p->seed, 0).draw;
    query.example = p->example++;
    p->query = query;
    return lh_decode(p->engine, &query, 1,
                     &(lh_answers){.answers = p->answers, .lengths = &p->length, .logits = p->logits}, error);
}

/* Refuses logits that are NaN or infinite: JSON cannot represent them, and the answers are meaningless. */
static lh_status check_finite(const prediction *p, lh_error *error) {
    for (int i = 0; i < p->length; i++)
        for (int c = 0; c < p->spec->classes; c++)
            if (!isfinite(p->logits[(size_t)i * (size_t)p->spec->classes + (size_t)c]))
                return lh_fail(error, LH_ERR_INPUT,
                               "line %lld: the logits of token %d are not finite\n"
                               "  expected: a checkpoint whose parameters are finite and let no value overflow",
                               (long long)p->line, i);
    return LH_OK;
}

/* Prints the indices of counted target tokens with a wrong or missing answer. */
static void print_wrong(const prediction *p) {
    const char *separator = "";
    printf(",\"wrong\":[");
    for (int i = 0; i < p->input.target_length; i++) {
        if (p->input.mask[i] == 0 || (i < p->length && p->answers[i] == p->input.target[i])) continue;
        printf("%s%d", separator, i);
        separator = ",";
    }
    putchar(']');
}

/* Prints the positions that the task or the line gives to the tokens of all streams. */
static void print_positions(const prediction *p) {
    const lh_shape shape = lh_make_shape(p->spec, p->input.n, 1);
    printf(",\"positions\":[");
    for (int i = 0; i < lh_count_shape_tokens(&shape); i++)
        printf("%s%d", i > 0 ? "," : "", p->input.token_positions[i]);
    putchar(']');
}

/* Prints the noise from which the passes start: a list of normally distributed numbers for each token that the model
 * reads. */
static void print_start_noise(const prediction *p, int digits) {
    const int width = p->spec->start_width, tokens = lh_make_shape(p->spec, p->input.n, 1).length[0];
    double noise[LH_NOISE_BLOCK];
    printf(",\"noise\":[");
    for (int t = 0; t < tokens; t++) {
        for (int c = 0; c < width; c++) {
            const int i = c % LH_NOISE_BLOCK;
            if (i == 0) lh_draw_start_noise(p->spec, &p->query.draw, p->query.example, t, c, noise);
            printf("%s%.*g", c > 0 ? "," : t > 0 ? ",[" : "[", digits, noise[i]);
        }
        putchar(']');
    }
    putchar(']');
}

static void print_json(const prediction *p) {
    int digits = p->engine->real_bytes == 4 ? 9 : 17; /* enough digits to restore the same bits */
    printf("{\"logits\":[");
    for (int i = 0; i < p->length; i++) {
        printf("%s[", i > 0 ? "," : "");
        for (int c = 0; c < p->spec->classes; c++)
            printf("%s%.*g", c > 0 ? "," : "", digits, p->logits[(size_t)i * (size_t)p->spec->classes + (size_t)c]);
        printf("]");
    }
    printf("],\"argmax\":[");
    for (int i = 0; i < p->length; i++) printf("%s%d", i > 0 ? "," : "", p->answers[i]);
    putchar(']');
    if (p->input.token_positions != NULL) print_positions(p);
    if (p->spec->passes_by_length) printf(",\"passes\":%d", lh_count_passes(p->spec, p->input.n));
    if (p->spec->draws_start) print_start_noise(p, digits);
    if (p->input.target != NULL) print_wrong(p);
    printf("}\n");
}

static void print_text(const prediction *p) {
    const lh_task *task = p->spec->task;
    lh_print_symbols(stdout, task->output_symbol, task->output_symbols, p->answers, NULL, p->length);
    printf("\n");
}

static lh_status predict_line(prediction *p, const char *line, bool as_text, lh_error *error) {
    p->logits = NULL;
    p->answers = NULL;
    lh_status status = as_text ? lh_input_read_symbols(&p->input, p->spec, p->line, line, error)
                               : lh_input_read_json(&p->input, p->spec, p->line, line, LH_LINE_ONLY, error);
    if (status == LH_OK) status = compute_answers(p, error);
    if (status == LH_OK) status = check_finite(p, error);
    if (status == LH_OK && as_text) print_text(p);
    else if (status == LH_OK) print_json(p);
    lh_input_free(&p->input);
    free(p->logits);
    free(p->answers);
    return status;
}

/* Predicts for a line of standard input, of `bytes` bytes; a blank line is skipped. */
static lh_status predict_input(prediction *p, const char *line, size_t bytes, lh_error *error) {
    if (strlen(line) != bytes)
        return lh_fail(error, LH_ERR_INPUT, "line %lld: byte %zu is 0\n  expected: text", (long long)p->line,
                       strlen(line));
    if (line[strspn(line, " \t\r\n")] == 0) return LH_OK;
    lh_status status = predict_line(p, line, false, error);
    fflush(stdout);
    return status;
}

static lh_status predict_lines(prediction *p, lh_error *error) {
    char *line = NULL;
    size_t capacity = 0;
    ssize_t bytes;
    lh_status status = LH_OK;
    for (p->line = 1; status == LH_OK && (bytes = getline(&line, &capacity, stdin)) >= 0; p->line++)
        status = predict_input(p, line, (size_t)bytes, error);
    if (status == LH_OK && !feof(stdin))
        status = lh_fail(error, LH_ERR_INPUT, "the standard input cannot be read: %s", strerror(errno));
    free(line);
    return status;
}

lh_status lh_verb_predict(const lh_cli *cli, lh_error *error) {
    static const lh_verb verb = {
        "predict", "Reads JSON lines {\"input\":[...]} and writes {\"logits\":[[...]],\"argmax\":[...]}.",
        "Optional \"positions\":[...] and \"distances\":[...], one number per token of the sequence, replace the "
        "random\n"
        "ones in every layer. distances[d] is the distance of two tokens that are d tokens apart; distances[0] is 0,\n"
        "and the values ascend.\n"
        "For a file of examples, \"outputs\":N is the number of tokens to predict. By default N is 1 or, if an end\n"
        "symbol ends answers, the largest number that fits. A line may have a \"target\" instead, with or without a\n"
        "\"mask\". With a target, \"wrong\":[...] lists the indices of wrong answers.\n"
        "A generative model's answers end with the task's end symbol, if it has one. If the task or the line gives "
        "positions,\n"
        "\"positions\":[...] has the position of each token that the model reads. If the length determines the number "
        "of passes\n"
        "through the layers, \"passes\":N is this number. If an axis determines it, each line needs a value on the "
        "axis, such as\n"
        "\"digits\":3. If the passes start from noise, \"noise\":[[...]] has this noise, a list for each "
        "token."};
    const char *checkpoint = NULL, *text = NULL, *device = "cpu";
    int64_t seed = LH_EVAL_SEED, threads = 1;
    bool has_printed_help;
    const lh_option options[] = {
        {"--checkpoint", LH_OPTION_TEXT, &checkpoint, 0, 0, NULL, "FILE", "checkpoint (required)"},
        {"--seed", LH_OPTION_INTEGER, &seed, 0, LH_LARGEST_SEED, NULL, "S", "seed of random positions and noise (1)"},
        {"--text", LH_OPTION_TEXT, &text, 0, 0, NULL, "SYMBOLS", "one input in the task's symbols, instead of stdin"},
        {"--device", LH_OPTION_TEXT, &device, 0, 0, NULL, LH_DEVICE_WORDS},
    };
    lh_status status =
        lh_cli_read_options(cli, &verb, options, sizeof options / sizeof *options, &has_printed_help, error);
    if (status != LH_OK || has_printed_help) return status;
    lh_line_shapes lines;
    lh_line_shapes_open(&lines, cli->spec);
    lh_cli_model model;
    status = lh_cli_open_checkpoint(&model, &lines.spec, checkpoint, device, threads, error);
    if (status != LH_OK) return status;
    prediction p = {.spec = &lines.spec, .engine = model.engine, .line = 1, .seed = seed};
    status = text != NULL ? predict_line(&p, text, true, error) : predict_lines(&p, error);
    lh_cli_close_checkpoint(&model);
    return status;
}
