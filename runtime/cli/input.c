/* See input.h. */
#include "cli/input.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbols.h"
#include "data/batch.h"
#include "data/token.h"

static lh_status fail_line(int64_t line, lh_error *error, const char *what) {
    return lh_fail(error, LH_ERR_INPUT, "line %lld: %s", (long long)line, what);
}

static lh_status no_memory(int64_t line, lh_error *error) {
    return lh_fail(error, LH_ERR_ENVIRONMENT, "line %lld: no memory", (long long)line);
}

/* Whether a list that the line may have has as many elements as the sequence has tokens. */
static lh_status check_count(const char *name, const int32_t *list, int count, int sequence, int64_t line,
                             lh_error *error) {
    if (list == NULL || count == sequence) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT, "line %lld: %d %s\n  expected: %d, one per token of the sequence",
                   (long long)line, count, name, sequence);
}

static lh_status search_length(lh_input *input, const lh_spec *spec, int64_t line, lh_error *error) {
    const lh_task *task = spec->task;
    int most = 4 * input->input_length + 16;
    for (input->n = 1; input->n <= most; input->n++)
        if (task->input_length(input->n) == input->input_length) break;
    if (input->n <= most) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT, "line %lld: no task length of %s has an input of %d tokens", (long long)line,
                   task->kind, input->input_length);
}

void lh_line_shapes_open(lh_line_shapes *lines, const lh_spec *spec) {
    *lines = (lh_line_shapes){.spec = *spec, .corpus = {.shapes = 2}, .sizes = {{1, 1}, {1, 1}}};
    lines->corpus.sizes = lines->sizes;
    if (spec->data != NULL) lines->spec.corpus = &lines->corpus;
}

static lh_status set_shape(lh_input *input, const lh_spec *spec, int64_t line, lh_error *error) {
    lh_sizes *now = &spec->corpus->sizes[0], *most = &spec->corpus->sizes[1];
    *now = (lh_sizes){input->input_length, input->outputs > 0 ? input->outputs : 1};
    if (now->input + now->output > spec->data->longest)
        return lh_fail(error, LH_ERR_INPUT,
                       "line %lld: %d tokens of input and %d of output\n  expected: at most task.longest = %d together",
                       (long long)line, now->input, now->output, spec->data->longest);
    if (now->input > most->input) most->input = now->input;
    if (now->output > most->output) most->output = now->output;
    input->n = 1;
    return LH_OK;
}

/* The task length whose input has this many tokens, and whether positions and distances are as many as it needs. */
static lh_status find_length(lh_input *input, const lh_spec *spec, int64_t line, lh_error *error) {
    lh_status status = (spec->corpus != NULL ? set_shape : search_length)(input, spec, line, error);
    if (status != LH_OK) return status;
    int sequence = lh_shape_at(spec, input->n, 1).length[0];
    status = check_count("positions", input->positions, input->positions_length, sequence, line, error);
    if (status != LH_OK) return status;
    return check_count("distances", input->distances, input->distances_length, sequence, line, error);
}

static lh_status read_tokens(lh_input *input, const lh_spec *spec, int64_t line, const json_t *list, lh_error *error) {
    if (!json_is_array(list) || json_array_size(list) == 0)
        return fail_line(line, error, "\"input\" is no list of tokens");
    input->input_length = (int)json_array_size(list);
    input->input = calloc((size_t)input->input_length, sizeof *input->input);
    if (input->input == NULL) return no_memory(line, error);
    char where[32];
    lh_alphabet alphabet;
    snprintf(where, sizeof where, "line %lld", (long long)line);
    lh_status status = lh_alphabet_open(&alphabet, spec->task->input_symbol, spec->task->input_symbols, error);
    if (status == LH_OK) status = lh_tokens_read(&alphabet, list, where, "input", input->input, error);
    lh_alphabet_close(&alphabet);
    return status;
}

/* The list of integers from least on, below range, that an object may have under this name; the caller frees it. */
static lh_status read_list(const json_t *object, const char *name, int least, int range, int64_t line, int32_t **out,
                           int *count, lh_error *error) {
    const json_t *list = json_object_get(object, name);
    if (list == NULL) return LH_OK;
    if (range == 0)
        return lh_fail(error, LH_ERR_INPUT, "line %lld: \"%s\" is given, but this encoding draws none", (long long)line,
                       name);
    if (!json_is_array(list) || json_array_size(list) == 0)
        return lh_fail(error, LH_ERR_INPUT, "line %lld: \"%s\" is no list of integers", (long long)line, name);
    *count = (int)json_array_size(list);
    *out = calloc((size_t)*count, sizeof **out);
    if (*out == NULL) return no_memory(line, error);
    for (int i = 0; i < *count; i++) {
        const json_t *item = json_array_get(list, (size_t)i);
        json_int_t value = json_integer_value(item);
        if (!json_is_integer(item) || value < least || value >= range)
            return lh_fail(error, LH_ERR_INPUT, "line %lld: %s[%d] is no integer from %d to %d", (long long)line, name,
                           i, least, range - 1);
        (*out)[i] = (int32_t)value;
    }
    return LH_OK;
}

static lh_status read_outputs(lh_input *input, const lh_spec *spec, int64_t line, const json_t *value,
                              lh_error *error) {
    if (value == NULL) return LH_OK;
    json_int_t outputs = json_integer_value(value);
    if (!json_is_integer(value) || outputs < 1 || outputs > spec->data->longest)
        return lh_fail(error, LH_ERR_INPUT, "line %lld: \"outputs\" is no number of tokens from 1 to %d",
                       (long long)line, spec->data->longest);
    input->outputs = (int)outputs;
    return LH_OK;
}

/* distances[d] is for tokens d apart, so the first is 0 and each is larger than the one before. */
static lh_status check_distances(const lh_input *input, int64_t line, lh_error *error) {
    const int32_t *distances = input->distances;
    if (distances == NULL) return LH_OK;
    if (distances[0] != 0)
        return lh_fail(error, LH_ERR_INPUT, "line %lld: distances[0] is %d\n  expected: 0, of a token to itself",
                       (long long)line, distances[0]);
    for (int i = 1; i < input->distances_length; i++)
        if (distances[i] <= distances[i - 1])
            return lh_fail(error, LH_ERR_INPUT, "line %lld: distances[%d] is %d\n  expected: more than %d, they ascend",
                           (long long)line, i, distances[i], distances[i - 1]);
    return LH_OK;
}

lh_status lh_input_read_json(lh_input *input, const lh_spec *spec, int64_t line, const char *text, lh_error *error) {
    json_error_t problem;
    memset(input, 0, sizeof *input);
    json_t *object = json_loads(text, 0, &problem);
    if (object == NULL) return fail_line(line, error, problem.text);
    lh_status status = read_tokens(input, spec, line, json_object_get(object, "input"), error);
    if (status == LH_OK)
        status = read_list(object, "positions", spec->first_position, spec->position_range, line, &input->positions,
                           &input->positions_length, error);
    if (status == LH_OK)
        status = read_list(object, "distances", 0, spec->distance_range, line, &input->distances,
                           &input->distances_length, error);
    if (status == LH_OK) status = check_distances(input, line, error);
    if (status == LH_OK && spec->corpus != NULL)
        status = read_outputs(input, spec, line, json_object_get(object, "outputs"), error);
    json_decref(object);
    return status == LH_OK ? find_length(input, spec, line, error) : status;
}

lh_status lh_input_read_symbols(lh_input *input, const lh_spec *spec, int64_t line, const char *text, lh_error *error) {
    const lh_task *task = spec->task;
    memset(input, 0, sizeof *input);
    input->input = calloc(strlen(text) + 1, sizeof *input->input);
    if (input->input == NULL) return no_memory(line, error);
    input->input_length = lh_read_symbols(task->input_symbol, task->input_symbols, text, input->input);
    if (input->input_length < 0)
        return lh_fail(error, LH_ERR_INPUT, "line %lld: '%.20s' is no symbol of %s", (long long)line,
                       text - 1 - input->input_length, task->kind);
    if (input->input_length == 0) return fail_line(line, error, "there are no symbols");
    return find_length(input, spec, line, error);
}

lh_query lh_input_query(const lh_input *input) {
    return (lh_query){
        .n = input->n, .input = input->input, .positions = input->positions, .distances = input->distances};
}

void lh_input_free(lh_input *input) {
    free(input->input);
    free(input->positions);
    free(input->distances);
}
