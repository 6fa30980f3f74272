/* See token.h. */
#define _GNU_SOURCE /* qsort_r */
#include "data/symbols/token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/symbols/symbols.h"

static int compare_names(const void *a, const void *b, void *names) {
    const char *const *list = names;
    return strcmp(list[*(const uint16_t *)a], list[*(const uint16_t *)b]);
}

lh_status lh_alphabet_open(lh_alphabet *alphabet, const char *const *names, int count, lh_error *error) {
    *alphabet = (lh_alphabet){names, count, calloc((size_t)count + 1, sizeof(uint16_t))};
    if (alphabet->by_name == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for %d symbols", count);
    for (int i = 0; i < count; i++) alphabet->by_name[i] = (uint16_t)i;
    qsort_r(alphabet->by_name, (size_t)count, sizeof *alphabet->by_name, compare_names, (void *)(uintptr_t)names);
    return LH_OK;
}

void lh_alphabet_close(lh_alphabet *alphabet) {
    free(alphabet->by_name);
    alphabet->by_name = NULL;
}

/* The id of a name; -1: no symbol has this name. */
static int find_name(const lh_alphabet *alphabet, const char *name) {
    int low = 0, high = alphabet->count;
    while (low < high) {
        int middle = (low + high) / 2, id = alphabet->by_name[middle];
        int order = strcmp(name, alphabet->names[id]);
        if (order == 0) return id;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return -1;
}

bool lh_alphabet_has(const lh_alphabet *alphabet, const char *text, size_t bytes) {
    char *name = strndup(text, bytes);
    bool is_found = name != NULL && strlen(name) == bytes && find_name(alphabet, name) >= 0;
    free(name);
    return is_found;
}

static lh_status fail_token(const lh_alphabet *alphabet, const json_t *item, const char *location, const char *key,
                            size_t i, lh_error *error) {
    int last = alphabet->count - 1;
    char names[LH_SYMBOL_LIST];
    if (json_is_integer(item))
        return lh_fail(error, LH_ERR_INPUT, "%s: %s[%zu] is %lld\n  expected: 0 to %d, or a symbol's name in quotes",
                       location, key, i, (long long)json_integer_value(item), last);
    if (!json_is_string(item))
        return lh_fail(
            error, LH_ERR_INPUT,
            "%s: %s[%zu] is neither an integer nor a name\n  expected: 0 to %d, or a symbol's name in quotes", location,
            key, i, last);
    lh_list_symbols(alphabet->names, alphabet->count, names);
    char *text = json_dumps(
        item, JSON_ENCODE_ANY | JSON_ENSURE_ASCII); /* escapes control characters, which a terminal would execute */
    lh_fail(error, LH_ERR_INPUT,
            "%s: %s[%zu] is %.60s, which is not a symbol\n  expected: one of %s; or a number, 0 to %d", location, key,
            i, text != NULL ? text : "a name", names, last);
    free(text);
    return LH_ERR_INPUT;
}

/* A list of `count` ones; NULL: no memory. */
static json_t *make_ones(size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < count; i++) json_array_append_new(list, json_integer(1));
    if (list == NULL || json_array_size(list) == count) return list;
    json_decref(list);
    return NULL;
}

bool lh_mask_null_targets(json_t *object) {
    json_t *target = json_object_get(object, "target"), *mask = json_object_get(object, "mask");
    bool is_ok = true;
    for (size_t i = 0; is_ok && i < json_array_size(target); i++) {
        if (!json_is_null(json_array_get(target, i))) continue;
        if (mask == NULL) is_ok = json_object_set_new(object, "mask", mask = make_ones(json_array_size(target))) == 0;
        is_ok = is_ok && json_array_set_new(target, i, json_integer(0)) == 0 &&
                json_array_set_new(mask, i, json_integer(0)) == 0;
    }
    return is_ok;
}

lh_status lh_tokens_read(const lh_alphabet *alphabet, const json_t *list, const char *location, const char *key,
                         uint16_t *tokens, lh_error *error) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        json_int_t id = json_is_string(item)    ? find_name(alphabet, json_string_value(item))
                        : json_is_integer(item) ? json_integer_value(item)
                                                : -1;
        if (id < 0 || id >= alphabet->count) return fail_token(alphabet, item, location, key, i, error);
        tokens[i] = (uint16_t)id;
    }
    return LH_OK;
}
