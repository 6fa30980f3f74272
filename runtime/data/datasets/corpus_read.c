/* See corpus_read.h. */
#include "data/datasets/corpus_read.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "data/datasets/line_formats.h"
#include "data/datasets/unpack.h"
#include "data/symbols/token.h"

enum { MAX_EXAMPLES = INT32_MAX };
static const size_t MAX_UNPACKED = (size_t)16 << 30; /* maximum bytes of a compressed file after unpacking */

/* One line, and the place in its file for messages. */
typedef struct line {
    const lh_spec *spec;
    const lh_alphabet *input, *output;
    const char *path;
    long long number; /* number of the line, from 1 */
    const char *text;
    size_t bytes;
    bool has_newline;    /* the line ends with a newline */
    const char *ignored; /* keys without a meaning that earlier lines had, as text for messages */
    lh_error *error;
} line;

/* Returns the index of the task's axis with this name; -1: none. */
static int find_axis(const lh_task *task, const char *name) {
    int axis = task->axes - 1;
    while (axis >= 0 && strcmp(task->axis[axis], name) != 0) axis--;
    return axis;
}

/* Adds a key to list->ignored, unless the text has the key or is full. */
static void ignore_key(lh_example_list *list, const char *key) {
    char name[LH_COLUMN_NAME], quoted[LH_COLUMN_NAME + 8];
    snprintf(name, sizeof name, "%s", key);
    for (char *c = name; *c != 0; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?'; /* a terminal would execute control characters */
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    size_t used = strlen(list->ignored);
    if (strstr(list->ignored, quoted) != NULL || used + strlen(quoted) + 3 > sizeof list->ignored) return;
    snprintf(list->ignored + used, sizeof list->ignored - used, "%s%s", used > 0 ? ", " : "", quoted);
}

static bool needs_positions(const lh_spec *spec) {
    return spec->format->positions != NULL && spec->format->positions->by_line;
}

/* Adds the line's keys without a meaning to the ignored keys. */
static void list_ignored_keys(const line *l, lh_example_list *list, json_t *object) {
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        if (strcmp(key, "input") != 0 && strcmp(key, "target") != 0 && strcmp(key, "mask") != 0 &&
            (strcmp(key, "positions") != 0 || !needs_positions(l->spec)) && find_axis(l->spec->task, key) < 0)
            ignore_key(list, key);
    }
}

/* Reads the example's values on axes. A missing value becomes LH_NO_VALUE. */
static lh_status take_values(const line *l, const json_t *object, int32_t *values) {
    const lh_task *task = l->spec->task;
    for (int a = 0; a < task->axes; a++) {
        const json_t *item = json_object_get(object, task->axis[a]);
        json_int_t value = json_is_integer(item) ? json_integer_value(item) : LH_NO_VALUE;
        if (item != NULL && (value < 0 || value > LH_LARGEST_VALUE))
            return lh_fail(l->error, LH_ERR_INPUT,
                           "%s:%lld: %s is not a valid value\n  expected: an integer from 0 to %d", l->path, l->number,
                           task->axis[a], LH_LARGEST_VALUE);
        values[a] = (int32_t)value;
    }
    return LH_OK;
}

enum { LOCATION_TEXT = PATH_MAX + 32 };
/* Writes "FILE:LINE" to `location`. Returns `location`. */
static const char *write_location(const line *l, char location[LOCATION_TEXT]) {
    snprintf(location, LOCATION_TEXT, "%s:%lld", l->path, l->number);
    return location;
}

/* Splits texts in "input" and "target" into lists of symbols. */
static lh_status split_texts(const line *l, json_t *object) {
    for (int i = 0; i < 2; i++) {
        const char *key = i == 0 ? "input" : "target";
        const json_t *text = json_object_get(object, key);
        if (!json_is_string(text)) continue;
        json_t *list =
            lh_split_symbols(i == 0 ? l->input : l->output, json_string_value(text), json_string_length(text));
        if (json_object_set_new(object, key, list) != 0) return lh_fail_examples(l->error);
    }
    return LH_OK;
}

/* Finds the list at a key; an empty list is an error. */
static lh_status find_list(const line *l, const json_t *object, const char *key, json_t **list) {
    const char *content = strcmp(key, "mask") == 0        ? "0 and 1"
                          : strcmp(key, "positions") == 0 ? "integers, since encoding.positions.kind is \"by_task\""
                                                          : "tokens";
    *list = json_object_get(object, key);
    if (*list == NULL)
        return lh_fail(l->error, LH_ERR_INPUT, "%s:%lld: %s is missing%s%s\n  expected: a list of %s", l->path,
                       l->number, key, l->ignored[0] != 0 ? "; keys without a meaning: " : "", l->ignored, content);
    if (json_is_array(*list) && json_array_size(*list) > 0) return LH_OK;
    return lh_fail(l->error, LH_ERR_INPUT, "%s:%lld: %s is %s\n  expected: a list of %s", l->path, l->number, key,
                   json_is_array(*list) ? "empty" : "not a list", content);
}

static lh_status take_tokens(const line *l, const json_t *list, const char *key, const lh_alphabet *alphabet,
                             uint16_t *tokens) {
    char location[LOCATION_TEXT];
    return lh_tokens_read(alphabet, list, write_location(l, location), key, tokens, l->error);
}

/* Checks that a mask has as many items as the target. */
static lh_status check_mask(const line *l, const json_t *object, const json_t *target) {
    json_t *list = json_object_get(object, "mask");
    if (list == NULL) return LH_OK;
    lh_status status = find_list(l, object, "mask", &list);
    if (status != LH_OK || json_array_size(list) == json_array_size(target)) return status;
    return lh_fail(l->error, LH_ERR_INPUT, "%s:%lld: mask has %zu items\n  expected: %zu, as many as target", l->path,
                   l->number, json_array_size(list), json_array_size(target));
}

/* Takes a mask of the right length. Without a mask, all outputs count. */
static lh_status take_mask(const line *l, const json_t *object, size_t outputs, uint8_t *mask, int64_t *masked) {
    const json_t *list = json_object_get(object, "mask");
    memset(mask, 1, outputs);
    for (size_t i = 0; list != NULL && i < outputs; i++) {
        const json_t *item = json_array_get(list, i);
        json_int_t value = json_is_integer(item) ? json_integer_value(item) : -1;
        if (value != 0 && value != 1)
            return lh_fail(l->error, LH_ERR_INPUT, "%s:%lld: mask[%zu] is neither 0 nor 1", l->path, l->number, i);
        mask[i] = (uint8_t)value;
        *masked += value == 0;
    }
    return LH_OK;
}

static lh_status take_positions(const line *l, const json_t *object, size_t inputs, size_t outputs,
                                int32_t *positions) {
    const int max_position = l->spec->format->positions->greatest;
    json_t *list;
    lh_status status = find_list(l, object, "positions", &list);
    if (status == LH_OK && json_array_size(list) != inputs + outputs)
        return lh_fail(l->error, LH_ERR_INPUT,
                       "%s:%lld: positions has %zu items\n"
                       "  expected: %zu, one for each of the input's %zu tokens, the separator, and the target's %zu "
                       "tokens without the last",
                       l->path, l->number, json_array_size(list), inputs + outputs, inputs, outputs);
    for (size_t i = 0; status == LH_OK && i < inputs + outputs; i++) {
        const json_t *item = json_array_get(list, i);
        json_int_t value = json_is_integer(item) ? json_integer_value(item) : -1;
        if (!json_is_integer(item))
            return lh_fail(l->error, LH_ERR_INPUT, "%s:%lld: positions[%zu] is not an integer", l->path, l->number, i);
        if (value < 0 || value > max_position)
            return lh_fail(l->error, LH_ERR_INPUT,
                           "%s:%lld: positions[%zu] is %lld\n"
                           "  expected: 0 to encoding.positions.max_position = %d",
                           l->path, l->number, i, (long long)value, max_position);
        positions[i] = (int32_t)value;
    }
    return status;
}

lh_status lh_fail_examples(lh_error *error) { return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for the examples"); }

/* Makes space for one more record and its values. */
static lh_status reserve_record(lh_example_list *list, int axes, lh_error *error) {
    if (list->count < list->capacity) return LH_OK;
    list->capacity = list->capacity * 2 + 1024; /* at least 1,024 records at first */
    lh_record *records = realloc(list->records, (size_t)list->capacity * sizeof *records);
    if (records != NULL) list->records = records;
    int32_t *values = realloc(list->values, ((size_t)list->capacity * (size_t)axes + 1) * sizeof *values);
    if (values != NULL) list->values = values;
    return records != NULL && values != NULL ? LH_OK : lh_fail_examples(error);
}

/* Makes space for `count` more tokens. */
static lh_status reserve_tokens(lh_example_list *list, int64_t count, lh_error *error) {
    if (list->used + count <= list->token_capacity) return LH_OK;
    list->token_capacity = (list->used + count) * 2 + 65536; /* at least 65,536 tokens at first */
    uint16_t *tokens = realloc(list->tokens, (size_t)list->token_capacity * sizeof *tokens);
    if (tokens != NULL) list->tokens = tokens;
    uint8_t *mask = realloc(list->mask, (size_t)list->token_capacity);
    if (mask != NULL) list->mask = mask;
    int32_t *positions =
        list->has_positions ? realloc(list->positions, (size_t)list->token_capacity * sizeof *positions) : NULL;
    if (positions != NULL) list->positions = positions;
    return tokens != NULL && mask != NULL && (positions != NULL) == list->has_positions ? LH_OK
                                                                                        : lh_fail_examples(error);
}

lh_status lh_example_list_add(lh_example_list *list, int input, int output, int words, int axes,
                              lh_example_storage *storage, lh_error *error) {
    if (list->count == MAX_EXAMPLES)
        return lh_fail(error, LH_ERR_INPUT, "task.kind, task.data: more than %d examples in a set", MAX_EXAMPLES);
    lh_status status = reserve_record(list, axes, error);
    if (status == LH_OK) status = reserve_tokens(list, words, error);
    if (status != LH_OK) return status;
    *storage = (lh_example_storage){.tokens = list->tokens + list->used,
                                    .mask = list->mask + list->used,
                                    .values = list->values + list->count * axes,
                                    .positions = list->has_positions ? list->positions + list->used : NULL};
    list->records[list->count] = (lh_record){
        .input = input, .output = output, .start = list->used, .index = list->count, .line = (uint32_t)list->count + 1};
    list->count++;
    list->used += words;
    return LH_OK;
}

/* Adds an example. Error messages name the line. */
static lh_status add_example(const line *l, lh_example_list *list, size_t inputs, size_t outputs,
                             lh_example_storage *storage) {
    lh_error problem;
    lh_status status = lh_example_list_add(list, (int)inputs, (int)outputs, (int)(inputs + outputs),
                                           l->spec->task->axes, storage, &problem);
    return status == LH_OK ? LH_OK : lh_fail(l->error, status, "%s:%lld: %.1500s", l->path, l->number, problem.text);
}

static bool is_end_symbol(const line *l, const json_t *item) {
    const lh_task *task = l->spec->task;
    if (json_is_string(item)) return strcmp(json_string_value(item), task->output_symbol[*task->end]) == 0;
    return json_is_integer(item) && json_integer_value(item) == *task->end;
}

/* Ends a target with the task's end symbol, if the task has one. An added end symbol has mask 1. */
static lh_status end_target(const line *l, json_t *object, json_t *target) {
    json_t *mask = json_object_get(object, "mask");
    size_t count = json_array_size(target);
    if (l->spec->task->end == NULL) return LH_OK;
    for (size_t i = 0; i + 1 < count; i++)
        if (is_end_symbol(l, json_array_get(target, i)))
            return lh_fail(
                l->error, LH_ERR_INPUT,
                "%s:%lld: target[%zu] is task.end_symbol\n  expected: this symbol only at the end of targets", l->path,
                l->number, i);
    if (is_end_symbol(l, json_array_get(target, count - 1))) return LH_OK;
    if (json_array_append_new(target, json_integer(*l->spec->task->end)) != 0 ||
        (mask != NULL && json_array_append_new(mask, json_integer(1)) != 0))
        return lh_fail_examples(l->error);
    return LH_OK;
}

static lh_status check_lengths(const line *l, size_t inputs, size_t outputs) {
    const lh_spec *spec = l->spec;
    size_t max_tokens = (size_t)spec->data->longest;
    if (inputs + outputs > max_tokens)
        return lh_fail(l->error, LH_ERR_INPUT,
                       "%s:%lld: input and target have %zu and %zu tokens\n  expected: at most task.longest = %zu "
                       "together",
                       l->path, l->number, inputs, outputs, max_tokens);
    size_t expected = spec->format->outputs != NULL ? (size_t)spec->format->outputs((int)inputs) : outputs;
    if (outputs == expected) return LH_OK;
    return lh_fail(l->error, LH_ERR_INPUT,
                   "%s:%lld: input and target have %zu and %zu tokens\n  expected: %zu target tokens, as many as "
                   "model.readout reads from this input",
                   l->path, l->number, inputs, outputs, expected);
}

static lh_status take_example(const line *l, lh_example_list *list, json_t *object) {
    json_t *input = NULL, *target = NULL;
    list_ignored_keys(l, list, object);
    lh_status status = split_texts(l, object);
    if (status == LH_OK) status = find_list(l, object, "input", &input);
    if (status == LH_OK) status = find_list(l, object, "target", &target);
    if (status == LH_OK) status = check_mask(l, object, target);
    if (status == LH_OK) status = end_target(l, object, target);
    if (status == LH_OK && !lh_mask_null_targets(object)) status = lh_fail_examples(l->error);
    if (status != LH_OK) return status;
    size_t inputs = json_array_size(input), outputs = json_array_size(target);
    lh_example_storage storage;
    status = check_lengths(l, inputs, outputs);
    if (status == LH_OK) status = add_example(l, list, inputs, outputs, &storage);
    if (status == LH_OK) list->records[list->count - 1].line = (uint32_t)l->number;
    if (status == LH_OK) status = take_tokens(l, input, "input", l->input, storage.tokens);
    if (status == LH_OK) status = take_tokens(l, target, "target", l->output, storage.tokens + inputs);
    if (status == LH_OK) status = take_mask(l, object, outputs, storage.mask + inputs, &list->masked);
    if (status == LH_OK && list->has_positions) status = take_positions(l, object, inputs, outputs, storage.positions);
    return status == LH_OK ? take_values(l, object, storage.values) : status;
}

static lh_status read_json(const line *l, lh_example_list *list) {
    json_error_t problem;
    json_t *object = json_loadb(l->text, l->bytes, JSON_REJECT_DUPLICATES, &problem);
    if (object == NULL && !l->has_newline)
        return lh_fail(l->error, LH_ERR_INPUT,
                       "%s:%lld:%d: the last line is torn: %s\n  hint: was the file copied whole?", l->path, l->number,
                       problem.column, problem.text);
    if (object == NULL)
        return lh_fail(l->error, LH_ERR_INPUT, "%s:%lld:%d: %s", l->path, l->number, problem.column, problem.text);
    lh_status status = LH_OK;
    if (json_is_object(object)) status = take_example(l, list, object);
    else
        status =
            lh_fail(l->error, LH_ERR_INPUT,
                    "%s:%lld: not a JSON object\n  expected: {\"input\":[...],\"target\":[...]}", l->path, l->number);
    json_decref(object);
    return status;
}

/* Reads a line that is not JSON. */
static lh_status read_other_line(const line *l, lh_example_list *list, const lh_line_reader *reader) {
    char location[LOCATION_TEXT];
    json_t *object;
    lh_status status = lh_line_reader_read(reader, l->text, l->bytes, l->input, l->output, write_location(l, location),
                                           &object, l->error);
    if (status != LH_OK) return status;
    status = take_example(l, list, object);
    json_decref(object);
    return status;
}

static lh_status read_line(const line *l, lh_example_list *list, lh_line_reader *reader) {
    char location[LOCATION_TEXT];
    bool is_header = false;
    lh_status status = LH_OK;
    size_t blanks = 0;
    while (blanks < l->bytes && strchr(" \t\r", l->text[blanks]) != NULL && l->text[blanks] != 0) blanks++;
    if (blanks == l->bytes) return LH_OK;
    if (reader->format == LH_LINES_UNKNOWN)
        status = lh_line_reader_start(reader, l->text, l->bytes, write_location(l, location), &is_header, l->error);
    if (status != LH_OK || is_header) return status;
    return reader->format == LH_LINES_JSON ? read_json(l, list) : read_other_line(l, list, reader);
}

static const char BYTE_ORDER_MARK[] = "\xef\xbb\xbf";

static lh_status read_lines(lh_example_list *list, line l, const char *text, size_t bytes) {
    lh_line_reader reader = {LH_LINES_UNKNOWN};
    lh_status status = LH_OK;
    size_t mark = strlen(BYTE_ORDER_MARK);
    if (bytes >= mark && memcmp(text, BYTE_ORDER_MARK, mark) == 0) {
        text += mark;
        bytes -= mark;
    }
    for (const char *end = text + bytes; status == LH_OK && text < end; text = l.text + l.bytes + l.has_newline) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        l.text = text;
        l.has_newline = newline != NULL;
        l.bytes = (size_t)((l.has_newline ? newline : end) - text);
        l.number++;
        status = read_line(&l, list, &reader);
    }
    if (status == LH_OK && list->count == 0)
        return lh_fail(l.error, LH_ERR_INPUT,
                       "%s: there are no examples\n  expected: one example per line (docs/own-task.md)", l.path);
    return status;
}

static lh_status read_text(lh_example_list *list, const lh_spec *spec, const char *path, const char *text, size_t bytes,
                           lh_error *error) {
    const lh_task *task = spec->task;
    lh_alphabet input, output = {0};
    lh_status status = lh_alphabet_open(&input, task->input_symbol, task->input_symbols, error);
    if (status == LH_OK) status = lh_alphabet_open(&output, task->output_symbol, task->output_symbols, error);
    list->has_positions = needs_positions(spec);
    line l = {.spec = spec, .input = &input, .output = &output, .path = path, .ignored = list->ignored, .error = error};
    if (status == LH_OK) status = read_lines(list, l, text, bytes);
    lh_alphabet_close(&input);
    lh_alphabet_close(&output);
    return status;
}

lh_status lh_example_list_read(lh_example_list *list, const lh_spec *spec, const char *path, const char *flag,
                               lh_error *error) {
    char *text;
    size_t bytes;
    lh_error problem;
    lh_status status = lh_read_file(path, &text, &bytes, &problem);
    if (status != LH_OK)
        return lh_fail(error, status, "%.1500s\n  hint: %s FILE; paths in a spec are relative to the spec's folder",
                       problem.text, flag);
    lh_sha256(text, bytes, list->digest);
    status = lh_unpack(path, MAX_UNPACKED, &text, &bytes, error);
    if (status == LH_OK) status = read_text(list, spec, path, text, bytes, error);
    free(text);
    return status;
}

void lh_example_list_close(lh_example_list *list) {
    free(list->records);
    free(list->tokens);
    free(list->mask);
    free(list->positions);
    free(list->values);
}
