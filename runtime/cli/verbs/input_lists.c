/* See input_lists.h. */
#include "cli/verbs/input_lists.h"

#include <stdlib.h>
#include <string.h>

static bool is_list(const json_t *list) { return json_is_array(list) && json_array_size(list) > 0; }

static lh_status fail_no_memory(int64_t line, lh_error *error) {
    return lh_fail(error, LH_ERR_ENVIRONMENT, "line %lld: no memory", (long long)line);
}

static bool has_line_positions(const lh_spec *spec) {
    return spec->format->positions != NULL && spec->format->positions->by_line;
}

/* The name of a list in messages; with one stream it is the key alone. */
typedef struct label {
    char text[64];
} label;

static label make_label(const lh_spec *spec, const char *name, int stream) {
    label result;
    if (spec->format->streams == 1) snprintf(result.text, sizeof result.text, "%s", name);
    else snprintf(result.text, sizeof result.text, "%s.%s", name, spec->format->stream[stream].name);
    return result;
}

/* Checks that each list of the line has the length of its stream. */
static lh_status check_streams(const lh_spec *spec, const char *name, const lh_input_list *lists, const lh_shape *shape,
                               int64_t line, lh_error *error) {
    for (int s = 0; s < spec->format->streams; s++)
        if (lists[s].numbers != NULL && lists[s].count != shape->length[s])
            return lh_fail(error, LH_ERR_INPUT, "line %lld: %d %s\n  expected: %d, one per token of the sequence",
                           (long long)line, lists[s].count, make_label(spec, name, s).text, shape->length[s]);
    return LH_OK;
}

/* Reads integers from min_value to end - 1; the caller frees them. */
static lh_status read_list(const json_t *list, const char *name, int min_value, int end, int64_t line,
                           lh_input_list *out, lh_error *error) {
    if (!is_list(list))
        return lh_fail(error, LH_ERR_INPUT, "line %lld: \"%s\" is not a list of integers", (long long)line, name);
    out->count = (int)json_array_size(list);
    out->numbers = calloc((size_t)out->count, sizeof *out->numbers);
    if (out->numbers == NULL) return fail_no_memory(line, error);
    for (int i = 0; i < out->count; i++) {
        const json_t *item = json_array_get(list, (size_t)i);
        json_int_t value = json_integer_value(item);
        if (!json_is_integer(item) || value < min_value || value >= end)
            return lh_fail(error, LH_ERR_INPUT, "line %lld: %s[%d] is not an integer from %d to %d", (long long)line,
                           name, i, min_value, end - 1);
        out->numbers[i] = (int32_t)value;
    }
    return LH_OK;
}

static int find_stream(const lh_format *format, const char *name) {
    int s = 0;
    while (s < format->streams && strcmp(format->stream[s].name, name) != 0) s++;
    return s;
}

/* The values that may replace the random values of stream s are first[s] to end[s] - 1; end[s] 0: the stream has no
 * random values. */
typedef struct value_ranges {
    const char *name; /* "positions" or "distances" */
    const int *first, *end;
} value_ranges;

static lh_status fail_unsampled(const char *name, int64_t line, lh_error *error) {
    return lh_fail(error, LH_ERR_INPUT,
                   "line %lld: \"%s\" is given, but this encoding samples none\n  expected: a line without this key",
                   (long long)line, name);
}

/* Reads {"<stream>":[...]}, lists for one or more of the model's streams. */
static lh_status read_streams(json_t *object, const lh_spec *spec, const value_ranges *ranges, int64_t line,
                              lh_input_list *out, lh_error *error) {
    const char *stream;
    json_t *list;
    lh_status status = LH_OK;
    if (!json_is_object(object))
        return lh_fail(
            error, LH_ERR_INPUT,
            "line %lld: \"%s\" is not an object\n  expected: {\"%s\":[...],\"%s\":[...]}, the model's streams",
            (long long)line, ranges->name, spec->format->stream[0].name, spec->format->stream[1].name);
    json_object_foreach(object, stream, list) {
        int s = find_stream(spec->format, stream);
        if (s == spec->format->streams)
            return lh_fail(error, LH_ERR_INPUT,
                           "line %lld: \"%s\": \"%.40s\" is no stream of the model\n  expected: \"%s\" or \"%s\"",
                           (long long)line, ranges->name, stream, spec->format->stream[0].name,
                           spec->format->stream[1].name);
        const label field = make_label(spec, ranges->name, s);
        status = ranges->end[s] == 0
                     ? fail_unsampled(field.text, line, error)
                     : read_list(list, field.text, ranges->first[s], ranges->end[s], line, &out[s], error);
        if (status != LH_OK) break;
    }
    return status;
}

/* Reads the lists of positions or distances of a line, if it has any. */
static lh_status read_lists(const json_t *object, const lh_spec *spec, const value_ranges *ranges, int64_t line,
                            lh_input_list *out, lh_error *error) {
    json_t *lists = json_object_get(object, ranges->name);
    bool is_sampled = false;
    if (lists == NULL) return LH_OK;
    for (int s = 0; s < spec->format->streams; s++) is_sampled = is_sampled || ranges->end[s] > 0;
    if (!is_sampled) return fail_unsampled(ranges->name, line, error);
    if (spec->format->streams > 1) return read_streams(lists, spec, ranges, line, out, error);
    return read_list(lists, ranges->name, *ranges->first, *ranges->end, line, out, error);
}

/* Checks that distances begin with 0 and ascend, because distances[d] is the distance that the model uses for tokens
 * whose indices differ by d. */
static lh_status check_distances(const lh_input_list *list, const char *name, int64_t line, lh_error *error) {
    const int32_t *distances = list->numbers;
    if (distances == NULL) return LH_OK;
    if (distances[0] != 0)
        return lh_fail(error, LH_ERR_INPUT, "line %lld: %s[0] is %d\n  expected: 0, the distance of a token to itself",
                       (long long)line, name, distances[0]);
    for (int i = 1; i < list->count; i++)
        if (distances[i] <= distances[i - 1])
            return lh_fail(error, LH_ERR_INPUT,
                           "line %lld: %s[%d] is %d\n  expected: more than %d, because distances ascend",
                           (long long)line, name, i, distances[i], distances[i - 1]);
    return LH_OK;
}

/* Reads the positions of the tokens of a decoder's sequence from a line, for a model with positions from lines. */
static lh_status read_line_positions(lh_input *input, const json_t *object, const lh_spec *spec, int64_t line,
                                     lh_error *error) {
    const json_t *list = json_object_get(object, "positions");
    if (list == NULL) return LH_OK; /* lh_input_check_counts refuses the line */
    return read_list(list, "positions", 0, spec->format->positions->greatest + 1, line, &input->line_positions, error);
}

lh_status lh_input_read_lists(lh_input *input, const json_t *object, const lh_spec *spec, int64_t line,
                              lh_error *error) {
    static const int from_zero[LH_MAX_STREAMS];
    const value_ranges positions = {"positions", spec->first_position, spec->position_range};
    const value_ranges distances = {"distances", from_zero, spec->distance_range};
    lh_status status = has_line_positions(spec) ? read_line_positions(input, object, spec, line, error)
                                                : read_lists(object, spec, &positions, line, input->positions, error);
    if (status == LH_OK) status = read_lists(object, spec, &distances, line, input->distances, error);
    for (int s = 0; status == LH_OK && s < spec->format->streams; s++)
        status = check_distances(&input->distances[s], make_label(spec, "distances", s).text, line, error);
    return status;
}

lh_status lh_input_check_counts(const lh_input *input, const lh_spec *spec, const lh_shape *shape, int64_t line,
                                lh_error *error) {
    const int expected = input->input_length + lh_get_output_length(spec, input->n);
    if (has_line_positions(spec) && input->line_positions.numbers == NULL)
        return lh_fail(error, LH_ERR_INPUT,
                       "line %lld: has no positions, but the model reads positions from lines\n"
                       "  expected: {\"input\":[...],\"positions\":[...]}",
                       (long long)line);
    if (has_line_positions(spec) && input->line_positions.count != expected)
        return lh_fail(error, LH_ERR_INPUT,
                       "line %lld: %d positions\n  expected: %d, one for each token of the input, the separator, and "
                       "the outputs without the last",
                       (long long)line, input->line_positions.count, expected);
    lh_status status = check_streams(spec, "positions", input->positions, shape, line, error);
    return status == LH_OK ? check_streams(spec, "distances", input->distances, shape, line, error) : status;
}
