/* See corpus_read.h. */
#include "data/corpus_read.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"

enum { MOST_EXAMPLES = INT32_MAX };

/* One line, and where messages say that it stands. */
typedef struct line {
    const lh_spec *spec;
    const char *path;
    long long number; /* from 1 */
    const char *text;
    size_t bytes;
    bool ends; /* with a newline */
    lh_error *error;
} line;

static lh_status no_memory(const line *l) {
    return lh_fail(l->error, LH_ERR_ENVIRONMENT, "%s:%lld: no memory for the examples", l->path, l->number);
}

static lh_status check_keys(const line *l, json_t *object) {
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        if (strcmp(key, "input") != 0 && strcmp(key, "target") != 0 && strcmp(key, "mask") != 0)
            return lh_fail(l->error, LH_ERR_INPUT, "%s:%lld: there is no \"%.40s\"\n  expected: input, target, mask",
                           l->path, l->number, key);
    }
    return LH_OK;
}

/* The list of integers under a key: that it is one, and not empty. */
static lh_status find_list(const line *l, const json_t *object, const char *key, json_t **list) {
    *list = json_object_get(object, key);
    if (*list == NULL)
        return lh_fail(l->error, LH_ERR_INPUT, "%s:%lld: %s is missing\n  expected: a list of integers", l->path,
                       l->number, key);
    if (json_is_array(*list) && json_array_size(*list) > 0) return LH_OK;
    return lh_fail(l->error, LH_ERR_INPUT, "%s:%lld: %s is %s\n  expected: a list of integers", l->path, l->number, key,
                   json_is_array(*list) ? "empty" : "no list");
}

/* Item i of a list, below `limit`. */
static lh_status take_item(const line *l, const json_t *list, const char *key, size_t i, int limit, int *value) {
    const json_t *item = json_array_get(list, i);
    if (!json_is_integer(item))
        return lh_fail(l->error, LH_ERR_INPUT, "%s:%lld: %s[%zu] is no integer\n  expected: 0 to %d", l->path,
                       l->number, key, i, limit - 1);
    json_int_t found = json_integer_value(item);
    if (found < 0 || found >= limit)
        return lh_fail(l->error, LH_ERR_INPUT, "%s:%lld: %s[%zu] is %lld\n  expected: 0 to %d", l->path, l->number, key,
                       i, (long long)found, limit - 1);
    *value = (int)found;
    return LH_OK;
}

static lh_status take_tokens(const line *l, const json_t *list, const char *key, int symbols, uint16_t *tokens) {
    lh_status status = LH_OK;
    for (size_t i = 0; status == LH_OK && i < json_array_size(list); i++) {
        int value = 0;
        status = take_item(l, list, key, i, symbols, &value);
        tokens[i] = (uint16_t)value;
    }
    return status;
}

static lh_status take_mask(const line *l, const json_t *object, size_t outputs, uint8_t *mask) {
    json_t *list = json_object_get(object, "mask");
    memset(mask, 1, outputs);
    if (list == NULL) return LH_OK;
    lh_status status = find_list(l, object, "mask", &list);
    if (status == LH_OK && json_array_size(list) != outputs)
        return lh_fail(l->error, LH_ERR_INPUT, "%s:%lld: mask has %zu items\n  expected: %zu, as many as target",
                       l->path, l->number, json_array_size(list), outputs);
    for (size_t i = 0; status == LH_OK && i < outputs; i++) {
        int value = 1;
        status = take_item(l, list, "mask", i, 2, &value);
        mask[i] = (uint8_t)value;
    }
    return status;
}

/* Room for one more example of so many tokens. */
static lh_status make_room(const line *l, lh_reading *r, int64_t tokens) {
    if (r->count == r->room) {
        r->room = r->room * 2 + 1024;
        lh_record *records = realloc(r->records, (size_t)r->room * sizeof *records);
        if (records == NULL) return no_memory(l);
        r->records = records;
    }
    if (r->used + tokens <= r->token_room) return LH_OK;
    r->token_room = (r->used + tokens) * 2 + 65536;
    uint16_t *more = realloc(r->tokens, (size_t)r->token_room * sizeof *more);
    if (more != NULL) r->tokens = more;
    uint8_t *mask = realloc(r->mask, (size_t)r->token_room);
    if (mask != NULL) r->mask = mask;
    return more != NULL && mask != NULL ? LH_OK : no_memory(l);
}

static lh_status take_example(const line *l, lh_reading *r, json_t *object) {
    json_t *input = NULL, *target = NULL;
    lh_status status = check_keys(l, object);
    if (status == LH_OK) status = find_list(l, object, "input", &input);
    if (status == LH_OK) status = find_list(l, object, "target", &target);
    if (status != LH_OK) return status;
    size_t inputs = json_array_size(input), outputs = json_array_size(target), longest = (size_t)l->spec->data->longest;
    if (inputs + outputs > longest)
        return lh_fail(l->error, LH_ERR_INPUT,
                       "%s:%lld: input and target have %zu and %zu tokens\n  expected: at most task.longest = %zu "
                       "together",
                       l->path, l->number, inputs, outputs, longest);
    if (r->count == MOST_EXAMPLES)
        return lh_fail(l->error, LH_ERR_INPUT, "%s:%lld: more than %d examples", l->path, l->number, MOST_EXAMPLES);
    status = make_room(l, r, (int64_t)(inputs + outputs));
    if (status != LH_OK) return status;
    uint16_t *tokens = r->tokens + r->used;
    status = take_tokens(l, input, "input", l->spec->task->input_symbols, tokens);
    if (status == LH_OK) status = take_tokens(l, target, "target", l->spec->task->output_symbols, tokens + inputs);
    if (status == LH_OK) status = take_mask(l, object, outputs, r->mask + r->used + inputs);
    r->records[r->count++] = (lh_record){(int)inputs, (int)outputs, r->used};
    r->used += (int64_t)(inputs + outputs);
    return status;
}

static lh_status read_line(const line *l, lh_reading *r) {
    json_error_t problem;
    if (l->bytes == strspn(l->text, " \t\r") && l->ends) return LH_OK; /* an empty line */
    json_t *object = json_loadb(l->text, l->bytes, JSON_REJECT_DUPLICATES, &problem);
    if (object == NULL && !l->ends)
        return lh_fail(l->error, LH_ERR_INPUT,
                       "%s:%lld:%d: the last line is torn: %s\n  hint: was the file copied whole?", l->path, l->number,
                       problem.column, problem.text);
    if (object == NULL)
        return lh_fail(l->error, LH_ERR_INPUT, "%s:%lld:%d: %s", l->path, l->number, problem.column, problem.text);
    lh_status status = LH_OK;
    if (json_is_object(object)) status = take_example(l, r, object);
    else
        status = lh_fail(l->error, LH_ERR_INPUT,
                         "%s:%lld: no JSON object\n  expected: {\"input\":[...],\"target\":[...]}", l->path, l->number);
    json_decref(object);
    return status;
}

static lh_status read_lines(lh_reading *r, const lh_spec *spec, const char *path, const char *text, size_t bytes,
                            lh_error *error) {
    lh_status status = LH_OK;
    line l = {.spec = spec, .path = path, .error = error};
    for (const char *end = text + bytes; status == LH_OK && text < end; text = l.text + l.bytes + l.ends) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        l.text = text;
        l.ends = newline != NULL;
        l.bytes = (size_t)((l.ends ? newline : end) - text);
        l.number++;
        status = read_line(&l, r);
    }
    if (status == LH_OK && r->count == 0)
        return lh_fail(error, LH_ERR_INPUT, "%s: there are no examples\n  expected: one JSON object per line", path);
    return status;
}

lh_status lh_reading_open(lh_reading *reading, const lh_spec *spec, const char *path, const char *flag,
                          lh_error *error) {
    char *text;
    size_t bytes;
    lh_error problem;
    lh_status status = lh_read_file(path, &text, &bytes, &problem);
    if (status != LH_OK)
        return lh_fail(error, status, "%.1500s\n  hint: %s FILE; a path of the spec is relative to the spec's folder",
                       problem.text, flag);
    lh_sha256(text, bytes, reading->digest);
    status = read_lines(reading, spec, path, text, bytes, error);
    free(text);
    return status;
}

void lh_reading_close(lh_reading *reading) {
    free(reading->records);
    free(reading->tokens);
    free(reading->mask);
}
