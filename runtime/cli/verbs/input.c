/* See input.h. */
#include "cli/verbs/input.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verbs/input_keys.h"
#include "cli/verbs/input_lists.h"
#include "data/batch.h"
#include "data/symbols/symbols.h"
#include "data/symbols/token.h"

enum { MAX_LINE_BYTES = INT32_MAX / 8 }; /* so that 4 times the number of tokens fits into an int (search_length) */

static lh_status fail_line(int64_t line, lh_error *error, const char *problem) {
    return lh_fail(error, LH_ERR_INPUT, "line %lld: %s", (long long)line, problem);
}

static bool is_list(const json_t *list) { return json_is_array(list) && json_array_size(list) > 0; }

static lh_status fail_no_memory(int64_t line, lh_error *error) {
    return lh_fail(error, LH_ERR_ENVIRONMENT, "line %lld: no memory", (long long)line);
}

static lh_status check_line_length(int64_t line, const char *text, lh_error *error) {
    if (strlen(text) <= MAX_LINE_BYTES) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT, "line %lld: is longer than %d bytes, the limit for inputs", (long long)line,
                   MAX_LINE_BYTES);
}

/* Finds the least task length n whose input has this many tokens. */
static lh_status search_length(lh_input *input, const lh_spec *spec, int64_t line, lh_error *error) {
    const lh_task *task = spec->task;
    int last_n = 4 * input->input_length + 16;
    for (input->n = 1; input->n <= last_n; input->n++)
        if (task->input_length(input->n) == input->input_length) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT, "line %lld: no task length of %s has an input of %d tokens", (long long)line,
                   task->kind, input->input_length);
}

void lh_line_shapes_open(lh_line_shapes *lines, const lh_spec *spec) {
    *lines = (lh_line_shapes){.spec = *spec, .corpus = {.shapes = 2}, .sizes = {{1, 1}, {1, 1}}};
    lines->corpus.sizes = lines->sizes;
    if (spec->data != NULL) lines->spec.corpus = &lines->corpus;
}

/* The number of outputs to predict. It is the first of these numbers that is known: the requested number; the number
 * that the readout requires; the number for which the line has positions; if a symbol ends answers, the maximum that
 * may follow the input; 1. */
static int choose_outputs(const lh_input *input, const lh_spec *spec) {
    if (input->outputs > 0) return input->outputs;
    if (spec->format->outputs != NULL) return spec->format->outputs(input->input_length);
    const int placed_outputs = input->line_positions.count - input->input_length;
    if (input->line_positions.count > 0) return placed_outputs > 1 ? placed_outputs : 1;
    if (spec->task->end == NULL) return 1;
    int max_outputs = spec->data->longest - input->input_length;
    int allowed = spec->limit.tokens - (spec->format->streams == 1 ? input->input_length : 0);
    if (spec->limit.tokens > 0 && allowed < max_outputs) max_outputs = allowed;
    return max_outputs > 1 ? max_outputs : 1;
}

/* Sets shape 1 of the corpus (lh_line_shapes) to the lengths of the line, and enlarges shape 2 if necessary. */
static void put_shape(lh_input *input, const lh_spec *spec) {
    lh_sizes *current = &spec->corpus->sizes[0], *max_sizes = &spec->corpus->sizes[1];
    *current = (lh_sizes){input->input_length, choose_outputs(input, spec), input->passes};
    if (current->input > max_sizes->input) max_sizes->input = current->input;
    if (current->output > max_sizes->output) max_sizes->output = current->output;
    if (current->passes > max_sizes->passes) max_sizes->passes = current->passes;
    input->n = 1;
}

/* Checks and sets the lengths of a line, with a dataset. */
static lh_status set_shape(lh_input *input, const lh_spec *spec, int64_t line, lh_error *error) {
    int outputs = choose_outputs(input, spec);
    if (input->input_length + outputs > spec->data->longest)
        return lh_fail(error, LH_ERR_INPUT,
                       "line %lld: %d tokens of input and %d of output\n  expected: at most task.longest = %d together",
                       (long long)line, input->input_length, outputs, spec->data->longest);
    int expected = spec->format->outputs != NULL ? spec->format->outputs(input->input_length) : outputs;
    if (outputs != expected)
        return lh_fail(error, LH_ERR_INPUT,
                       "line %lld: %d outputs\n  expected: %d, as many as model.readout reads from this input",
                       (long long)line, outputs, expected);
    put_shape(input, spec);
    return LH_OK;
}

/* Checks that the input determines the token from which its answer is read. */
static lh_status check_place(const lh_input *input, const lh_spec *spec, int64_t line, lh_error *error) {
    if (spec->format->locate == NULL) return LH_OK;
    lh_example example = {.input_length = input->input_length,
                          .output_length = lh_get_output_length(spec, input->n),
                          .input = input->input};
    uint16_t *label_places = calloc((size_t)example.output_length, sizeof *label_places);
    if (label_places == NULL) return fail_no_memory(line, error);
    bool is_located = spec->format->locate(&example, label_places);
    free(label_places);
    if (is_located) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT,
                   "line %lld: the input does not determine the token from which the answer is read\n  expected: %s",
                   (long long)line, spec->format->located);
}

/* Finds the task length whose input has this many tokens or, with a dataset, sets the line's shape. Checks the place of
 * the answer, and how many positions and distances the line has. */
static lh_status find_length(lh_input *input, const lh_spec *spec, int64_t line, lh_error *error) {
    lh_status status =
        spec->corpus != NULL ? set_shape(input, spec, line, error) : search_length(input, spec, line, error);
    if (status == LH_OK) status = check_place(input, spec, line, error);
    if (status != LH_OK) return status;
    lh_shape shape = lh_make_shape(spec, input->n, 1);
    status = lh_input_check_counts(input, spec, &shape, line, error);
    return status == LH_OK ? lh_find_input_positions(spec, input->n, input->input, input->line_positions.numbers,
                                                     &input->token_positions, error)
                           : status;
}

/* Reads a list of token ids or names. tokens: space for all ids. */
static lh_status read_names(const json_t *list, const char *const *names, int symbols, int64_t line, const char *key,
                            uint16_t *tokens, lh_error *error) {
    char location[32];
    lh_alphabet alphabet;
    snprintf(location, sizeof location, "line %lld", (long long)line);
    lh_status status = lh_alphabet_open(&alphabet, names, symbols, error);
    if (status == LH_OK) status = lh_tokens_read(&alphabet, list, location, key, tokens, error);
    lh_alphabet_close(&alphabet);
    return status;
}

static lh_status read_tokens(lh_input *input, const lh_spec *spec, int64_t line, const json_t *list, lh_error *error) {
    if (!is_list(list)) return fail_line(line, error, "\"input\" is not a list of tokens");
    input->input_length = (int)json_array_size(list);
    input->input = calloc((size_t)input->input_length, sizeof *input->input);
    if (input->input == NULL) return fail_no_memory(line, error);
    return read_names(list, spec->task->input_symbol, spec->task->input_symbols, line, "input", input->input, error);
}

static lh_status read_outputs(lh_input *input, const lh_spec *spec, int64_t line, const json_t *value,
                              lh_error *error) {
    if (value == NULL) return LH_OK;
    json_int_t outputs = json_integer_value(value);
    if (!json_is_integer(value) || outputs < 1 || outputs > spec->data->longest)
        return lh_fail(error, LH_ERR_INPUT, "line %lld: \"outputs\" is not a number of tokens from 1 to %d",
                       (long long)line, spec->data->longest);
    input->outputs = (int)outputs;
    return LH_OK;
}

/* Reads the number of passes, if it is the value of an axis. object: NULL for a text, which has no values. */
static lh_status read_passes(lh_input *input, const lh_spec *spec, int64_t line, const json_t *object,
                             lh_error *error) {
    if (spec->pass_axis == 0) return LH_OK;
    const char *name = spec->task->axis[spec->pass_axis - 1];
    const json_t *value = object != NULL ? json_object_get(object, name) : NULL;
    json_int_t passes = value != NULL ? json_integer_value(value) : 0;
    if (passes >= 1 && passes <= LH_MAX_PASSES) input->passes = (int)passes;
    if (input->passes > 0) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT,
                   "line %lld: \"%s\", the number of passes, is %s\n  expected: a JSON line with a number from 1 to %d",
                   (long long)line, name, value != NULL ? "out of range" : "missing", LH_MAX_PASSES);
}

/* ---- right answers ---- */

/* Reads "target" and "mask" of the line; their lengths are checked later. */
static lh_status read_target(lh_input *input, const lh_spec *spec, int64_t line, json_t *object, lh_error *error) {
    const json_t *list = json_object_get(object, "target"), *mask = json_object_get(object, "mask");
    if (list == NULL && mask != NULL) return fail_line(line, error, "\"mask\" is given without \"target\"");
    if (list == NULL) return LH_OK;
    if (!is_list(list)) return fail_line(line, error, "\"target\" is not a list of tokens");
    size_t count = json_array_size(list);
    if (mask != NULL && json_array_size(mask) != count)
        return fail_line(line, error, "\"mask\" is not as long as \"target\"");
    if (!lh_mask_null_targets(object)) return fail_no_memory(line, error);
    mask = json_object_get(object, "mask");
    input->target_length = (int)count;
    input->target = calloc(count, sizeof *input->target);
    input->mask = calloc(count, sizeof *input->mask);
    if (input->target == NULL || input->mask == NULL) return fail_no_memory(line, error);
    for (size_t i = 0; i < count; i++) {
        const json_t *mask_item = mask != NULL ? json_array_get(mask, i) : NULL;
        input->mask[i] = mask_item == NULL || json_integer_value(mask_item) == 1;
        if (mask_item != NULL && (!json_is_integer(mask_item) || json_integer_value(mask_item) >> 1 != 0))
            return lh_fail(error, LH_ERR_INPUT, "line %lld: mask[%zu] is neither 0 nor 1", (long long)line, i);
    }
    return read_names(list, spec->task->output_symbol, spec->task->output_symbols, line, "target", input->target,
                      error);
}

static lh_status fail_length(int64_t line, int found, int expected, lh_error *error) {
    return lh_fail(error, LH_ERR_INPUT, "line %lld: a target of %d tokens\n  expected: %d", (long long)line, found,
                   expected);
}

/* Replaces the content of input by the example, with its answer, that the task makes from the symbols of a literal.
 * Checks the example, since a user's own task may be wrong. */
static lh_status solve(lh_input *input, const lh_task *task, const lh_literal *literal, int64_t line, lh_error *error) {
    lh_example example = {.options = task->options};
    lh_error problem = {""};
    lh_status status = task->solve(literal, &example, &problem); /* without arrays: sets only the lengths */
    if (status != LH_OK) return lh_fail(error, status, "line %lld: %s", (long long)line, problem.text);
    int inputs = example.input_length, outputs = example.output_length;
    if (inputs < 1 || outputs < 1) return fail_line(line, error, "the task makes an empty input or target");
    example.input = calloc((size_t)inputs, sizeof *example.input);
    example.target = calloc((size_t)outputs, sizeof *example.target);
    example.mask = calloc((size_t)outputs, 1);
    if (example.input == NULL || example.target == NULL || example.mask == NULL) status = fail_no_memory(line, error);
    if (status == LH_OK) {
        memset(example.mask, 1, (size_t)outputs);
        status = task->solve(literal, &example, error);
    }
    free(input->input);
    input->input = example.input;
    input->target = example.target;
    input->mask = example.mask;
    input->input_length = inputs;
    input->target_length = input->outputs = outputs;
    for (int i = 0; status == LH_OK && i < inputs; i++)
        if (input->input[i] >= task->input_symbols) status = fail_line(line, error, "the task makes an invalid input");
    for (int i = 0; status == LH_OK && i < outputs; i++)
        if (input->target[i] >= task->output_symbols)
            status = fail_line(line, error, "the task makes an invalid target");
    return status;
}

static lh_literal make_literal(const lh_task *task, const uint16_t *tokens, int count, int frame) {
    return (lh_literal){
        .token = tokens, .count = count, .symbol = task->input_symbol, .options = task->options, .frame = frame};
}

/* Sets the right answer to the task's answer if the input has the form of the task's examples and the answer has the
 * requested number of outputs; otherwise the right answer stays unknown. */
static void add_task_answer(lh_input *input, const lh_spec *spec) {
    lh_input solved = {.input = NULL};
    lh_error ignored;
    lh_literal literal = make_literal(spec->task, input->input, input->input_length, LH_NO_VALUE);
    if (solve(&solved, spec->task, &literal, 0, &ignored) == LH_OK && solved.input_length == input->input_length &&
        (input->outputs == 0 || input->outputs == solved.target_length) &&
        memcmp(solved.input, input->input, (size_t)solved.input_length * sizeof *solved.input) == 0) {
        input->target = solved.target;
        input->mask = solved.mask;
        input->target_length = solved.target_length;
        solved.target = NULL;
        solved.mask = NULL;
    }
    lh_input_free(&solved);
}

/* Finds the right answer if it is known. With a dataset, the length of the answer determines the number of outputs. */
static lh_status find_answer(lh_input *input, const lh_spec *spec, int64_t line, json_t *object,
                             lh_answer_source source, lh_error *error) {
    lh_status status = read_target(input, spec, line, object, error);
    if (status != LH_OK) return status;
    if (input->target == NULL && source == LH_LINE_OR_TASK && spec->task->solve != NULL) add_task_answer(input, spec);
    if (input->target == NULL || spec->corpus == NULL) return LH_OK;
    if (input->outputs > 0 && input->outputs != input->target_length)
        return fail_length(line, input->target_length, input->outputs, error);
    input->outputs = input->target_length;
    return LH_OK;
}

static lh_status check_target(const lh_input *input, const lh_spec *spec, int64_t line, lh_error *error) {
    int outputs = lh_get_output_length(spec, input->n);
    if (input->target == NULL || input->target_length == outputs) return LH_OK;
    return fail_length(line, input->target_length, outputs, error);
}

/* ---- whole inputs ---- */

lh_status lh_input_read_json(lh_input *input, const lh_spec *spec, int64_t line, const char *text,
                             lh_answer_source source, lh_error *error) {
    json_error_t problem;
    memset(input, 0, sizeof *input);
    lh_status status = check_line_length(line, text, error);
    if (status != LH_OK) return status;
    json_t *object = json_loads(text, 0, &problem);
    if (object == NULL) return fail_line(line, error, problem.text);
    status = lh_input_check_keys(object, spec, line, error);
    if (status == LH_OK) status = read_tokens(input, spec, line, json_object_get(object, "input"), error);
    if (status == LH_OK) status = lh_input_read_lists(input, object, spec, line, error);
    if (status == LH_OK && spec->corpus != NULL)
        status = read_outputs(input, spec, line, json_object_get(object, "outputs"), error);
    if (status == LH_OK) status = read_passes(input, spec, line, object, error);
    if (status == LH_OK) status = find_answer(input, spec, line, object, source, error);
    json_decref(object);
    if (status == LH_OK) status = find_length(input, spec, line, error);
    return status == LH_OK ? check_target(input, spec, line, error) : status;
}

/* Reads the tokens of a text into input. */
static lh_status read_text(lh_input *input, const lh_task *task, int64_t line, const char *text, lh_error *error) {
    memset(input, 0, sizeof *input);
    lh_status status = check_line_length(line, text, error);
    if (status != LH_OK) return status;
    input->input = calloc(strlen(text) + 1, sizeof *input->input);
    if (input->input == NULL) return fail_no_memory(line, error);
    input->input_length = lh_read_symbols(task->input_symbol, task->input_symbols, text, input->input);
    if (input->input_length < 0) {
        int index = -1 - input->input_length;
        char names[LH_SYMBOL_LIST];
        lh_list_symbols(task->input_symbol, task->input_symbols, names);
        return lh_fail(error, LH_ERR_INPUT, "line %lld: '%.20s' is not a symbol of %s, at column %d\n  expected: %s",
                       (long long)line, text + index, task->kind, index + 1, names);
    }
    return input->input_length > 0 ? LH_OK : fail_line(line, error, "there are no symbols");
}

lh_status lh_input_read_symbols(lh_input *input, const lh_spec *spec, int64_t line, const char *text, lh_error *error) {
    lh_status status = read_text(input, spec->task, line, text, error);
    if (status == LH_OK) status = read_passes(input, spec, line, NULL, error);
    return status == LH_OK ? find_length(input, spec, line, error) : status;
}

/* Checks that an input does not exceed the limit of the encoding. The input's frame, the width to which the task pads
 * numbers, may be wider than in training. */
static lh_status check_limit(const lh_input *input, const lh_spec *spec, int64_t line, lh_error *error) {
    lh_shape shape = lh_make_shape(spec, input->n, 1);
    for (int s = 0; spec->limit.tokens > 0 && s < spec->format->streams; s++)
        if (shape.length[s] > spec->limit.tokens)
            return lh_fail(error, LH_ERR_INPUT, "line %lld: a sequence has %d tokens, the encoding allows %d (%s)",
                           (long long)line, shape.length[s], spec->limit.tokens, spec->limit.because);
    return LH_OK;
}

lh_status lh_input_read_literal(lh_input *input, const lh_spec *spec, int64_t line, const char *text, int frame,
                                lh_error *error) {
    const lh_task *task = spec->task;
    lh_status status = read_text(input, task, line, text, error);
    if (status == LH_OK) status = read_passes(input, spec, line, NULL, error);
    if (status == LH_OK && task->solve != NULL) {
        lh_literal literal = make_literal(task, input->input, input->input_length, frame);
        status = solve(input, task, &literal, line, error);
    }
    if (status != LH_OK) return status;
    if (task->solve == NULL || spec->corpus == NULL) status = find_length(input, spec, line, error);
    else put_shape(input, spec);
    if (status == LH_OK) status = check_limit(input, spec, line, error);
    return status == LH_OK ? check_target(input, spec, line, error) : status;
}

lh_query lh_input_make_query(const lh_input *input) {
    lh_query query = {.n = input->n, .input = input->input, .line_positions = &input->line_positions.numbers};
    for (int s = 0; s < LH_MAX_STREAMS; s++) {
        query.positions[s] = input->positions[s].numbers;
        query.distances[s] = input->distances[s].numbers;
    }
    return query;
}

void lh_input_free(lh_input *input) {
    free(input->input);
    free(input->target);
    free(input->mask);
    free(input->line_positions.numbers);
    free(input->token_positions);
    for (int s = 0; s < LH_MAX_STREAMS; s++) {
        free(input->positions[s].numbers);
        free(input->distances[s].numbers);
    }
}
