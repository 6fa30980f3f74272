/* trainer predict: logits for inputs of one's own, one JSON line each. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/symbols.h"

/* One line on its way from stdin to stdout; the arrays grow with the longest line. */
typedef struct prediction {
    const lh_spec *spec;
    lh_engine *engine;
    int64_t line, seed;
    int n; /* task length */
    int input_length;
    uint16_t *input;
    int32_t *positions; /* NULL where the line has none */
    int positions_length;
    double *logits;
} prediction;

static lh_status fail_line(const prediction *p, lh_error *error, const char *what) {
    return lh_fail(error, LH_ERR_INPUT, "line %lld: %s", (long long)p->line, what);
}

/* The task length whose input has this many tokens. */
static lh_status find_length(prediction *p, lh_error *error) {
    const lh_task *task = p->spec->task;
    for (p->n = 1; p->n <= 4 * p->input_length + 16; p->n++)
        if (task->input_length(p->n) == p->input_length) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT, "line %lld: no task length of %s has an input of %d tokens", (long long)p->line,
                   task->kind, p->input_length);
}

static lh_status read_input(prediction *p, const json_t *list, lh_error *error) {
    if (!json_is_array(list) || json_array_size(list) == 0)
        return fail_line(p, error, "\"input\" is no list of tokens");
    p->input_length = (int)json_array_size(list);
    p->input = calloc((size_t)p->input_length, sizeof *p->input);
    if (p->input == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "line %lld: no memory", (long long)p->line);
    for (int i = 0; i < p->input_length; i++) {
        const json_t *token = json_array_get(list, (size_t)i);
        if (!json_is_integer(token))
            return lh_fail(error, LH_ERR_INPUT, "line %lld: input[%d] is no integer", (long long)p->line, i);
        json_int_t value = json_integer_value(token);
        if (value < 0 || value >= p->spec->task->input_symbols)
            return lh_fail(error, LH_ERR_INPUT, "line %lld: input[%d] is %lld\n  expected: a token from 0 to %d",
                           (long long)p->line, i, (long long)value, p->spec->task->input_symbols - 1);
        p->input[i] = (uint16_t)value;
    }
    return LH_OK;
}

static lh_status read_positions(prediction *p, const json_t *list, lh_error *error) {
    int range = p->spec->position_range;
    p->positions = NULL;
    if (list == NULL) return LH_OK;
    if (range == 0)
        return lh_fail(error, LH_ERR_INPUT, "line %lld: \"positions\" is given, but this encoding draws none",
                       (long long)p->line);
    p->positions_length = (int)json_array_size(list);
    if (!json_is_array(list) || p->positions_length == 0)
        return fail_line(p, error, "\"positions\" is no list of integers");
    p->positions = calloc((size_t)p->positions_length, sizeof *p->positions);
    if (p->positions == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "line %lld: no memory", (long long)p->line);
    for (int i = 0; i < p->positions_length; i++) {
        const json_t *position = json_array_get(list, (size_t)i);
        json_int_t value = json_integer_value(position);
        if (!json_is_integer(position) || value < 0 || value >= range)
            return lh_fail(error, LH_ERR_INPUT, "line %lld: positions[%d] is no integer from 0 to %d",
                           (long long)p->line, i, range - 1);
        p->positions[i] = (int32_t)value;
    }
    return LH_OK;
}

static lh_status read_json(prediction *p, const char *line, lh_error *error) {
    json_error_t problem;
    json_t *object = json_loads(line, 0, &problem);
    if (object == NULL) return fail_line(p, error, problem.text);
    lh_status status = read_input(p, json_object_get(object, "input"), error);
    if (status == LH_OK) status = read_positions(p, json_object_get(object, "positions"), error);
    json_decref(object);
    return status;
}

static lh_status read_text(prediction *p, const char *line, lh_error *error) {
    const lh_task *task = p->spec->task;
    p->input = calloc(strlen(line) + 1, sizeof *p->input);
    if (p->input == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "line %lld: no memory", (long long)p->line);
    p->input_length = lh_read_symbols(task->input_symbol, task->input_symbols, line, p->input);
    if (p->input_length < 0)
        return lh_fail(error, LH_ERR_INPUT, "line %lld: '%.20s' is no symbol of %s", (long long)p->line,
                       line - 1 - p->input_length, task->kind);
    return p->input_length > 0 ? LH_OK : fail_line(p, error, "there are no symbols");
}

static lh_status forward(prediction *p, lh_error *error) {
    lh_status status = find_length(p, error);
    if (status != LH_OK) return status;
    lh_shape shape = lh_shape_at(p->spec, p->n, 1);
    if (p->positions != NULL && p->positions_length != shape.length[0])
        return lh_fail(error, LH_ERR_INPUT, "line %lld: %d positions\n  expected: %d, one per token of the sequence",
                       (long long)p->line, p->positions_length, shape.length[0]);
    lh_lengths lengths = {NULL, 0, p->n, p->n, 1};
    status = p->engine->ops->reserve(p->engine, &lengths, 1, error);
    if (status != LH_OK) return status;
    p->logits = calloc((size_t)shape.labels * (size_t)p->spec->classes, sizeof *p->logits);
    if (p->logits == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "line %lld: no memory", (long long)p->line);
    lh_query query = {
        p->n, p->input, p->positions, {lh_key_of_seed((uint64_t)p->seed), (uint32_t)p->n, 0, LH_DOMAIN_EVAL}};
    p->engine->ops->predict(p->engine, &query, p->logits);
    return LH_OK;
}

static int best_class(const prediction *p, int label) {
    const double *row = p->logits + (size_t)label * (size_t)p->spec->classes;
    int best = 0;
    for (int c = 1; c < p->spec->classes; c++)
        if (row[c] > row[best]) best = c;
    return best;
}

static void print_json(const prediction *p, int labels) {
    int digits = p->engine->real_bytes == 4 ? 9 : 17; /* enough to read back the same bits */
    printf("{\"logits\":[");
    for (int i = 0; i < labels; i++) {
        printf("%s[", i > 0 ? "," : "");
        for (int c = 0; c < p->spec->classes; c++)
            printf("%s%.*g", c > 0 ? "," : "", digits, p->logits[(size_t)i * (size_t)p->spec->classes + (size_t)c]);
        printf("]");
    }
    printf("],\"argmax\":[");
    for (int i = 0; i < labels; i++) printf("%s%d", i > 0 ? "," : "", best_class(p, i));
    printf("]}\n");
}

static void print_text(const prediction *p, int labels) {
    const lh_task *task = p->spec->task;
    for (int i = 0; i < labels; i++) {
        uint16_t symbol = (uint16_t)best_class(p, i);
        printf("%s", i > 0 && strlen(task->output_symbol[0]) > 1 ? " " : "");
        lh_print_symbols(task->output_symbol, task->output_symbols, &symbol, NULL, 1);
    }
    printf("\n");
}

static lh_status predict_line(prediction *p, const char *line, bool text, lh_error *error) {
    p->input = NULL;
    p->positions = NULL;
    p->logits = NULL;
    lh_status status = text ? read_text(p, line, error) : read_json(p, line, error);
    if (status == LH_OK) status = forward(p, error);
    if (status == LH_OK) (text ? print_text : print_json)(p, p->spec->format->labels(p->n));
    free(p->input);
    free(p->positions);
    free(p->logits);
    return status;
}

static lh_status predict_lines(prediction *p, lh_error *error) {
    char *line = NULL;
    size_t room = 0;
    lh_status status = LH_OK;
    for (p->line = 1; status == LH_OK && getline(&line, &room, stdin) >= 0; p->line++)
        if (line[strspn(line, " \t\r\n")] != 0) {
            status = predict_line(p, line, false, error);
            fflush(stdout);
        }
    free(line);
    return status;
}

lh_status lh_verb_predict(const lh_cli *cli, lh_error *error) {
    static const lh_verb verb = {
        "predict", "Reads JSON lines {\"input\":[...]} and writes {\"logits\":[[...]],\"argmax\":[...]}.",
        "Optional \"positions\":[...], one per token of the sequence, replace the draws in every layer."};
    const char *checkpoint = NULL, *text = NULL;
    int64_t step, seed = LH_EVAL_SEED, threads = 1;
    bool done;
    const lh_option options[] = {
        {"--checkpoint", LH_OPTION_TEXT, &checkpoint, 0, 0, NULL, "FILE", "(required)"},
        {"--seed", LH_OPTION_INTEGER, &seed, 0, LH_LARGEST_SEED, NULL, "S", "of position draws (1)"},
        {"--text", LH_OPTION_TEXT, &text, 0, 0, NULL, "SYMBOLS", "one input in the task's symbols; no stdin"},
    };
    lh_status status = lh_cli_options(cli, &verb, options, sizeof options / sizeof *options, &done, error);
    if (status != LH_OK || done) return status;
    prediction p = {.spec = cli->spec, .line = 1, .seed = seed};
    status = lh_cli_open_checkpoint(cli->spec, checkpoint, threads, &p.engine, &step, error);
    if (status != LH_OK) return status;
    status = text != NULL ? predict_line(&p, text, true, error) : predict_lines(&p, error);
    p.engine->ops->close(p.engine);
    return status;
}
