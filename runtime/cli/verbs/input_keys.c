/* See input_keys.h. */
#include "cli/verbs/input_keys.h"

#include <stdio.h>
#include <string.h>

#include "cli/options.h"

enum { MAX_NAMES = 6 + LH_MAX_AXES };

/* Lists the names in the order of messages; returns their number. */
static int list_names(const lh_spec *spec, const char *names[MAX_NAMES]) {
    static const char *const common_keys[] = {"input", "target", "mask", "positions", "distances"};
    int count = 0;
    for (size_t i = 0; i < sizeof common_keys / sizeof *common_keys; i++) names[count++] = common_keys[i];
    if (spec->data != NULL) names[count++] = "outputs";
    for (int i = 0; i < spec->task->axes; i++) names[count++] = spec->task->axis[i];
    return count;
}

static lh_status fail_key(const char *key, const char *const *names, int count, int64_t line, lh_error *error) {
    char word[41], list[640] = "";
    size_t used = 0;
    snprintf(word, sizeof word, "%s", key);
    for (int i = 0; i < count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
    const char *closest_name = lh_find_nearest_name(word, names, count, sizeof *names);
    return lh_fail(error, LH_ERR_INPUT, "line %lld: there is no \"%s\"\n  expected: %s%s%s%s", (long long)line, word,
                   list, closest_name != NULL ? "\n  hint: did you mean \"" : "",
                   closest_name != NULL ? closest_name : "", closest_name != NULL ? "\"?" : "");
}

lh_status lh_input_check_keys(json_t *object, const lh_spec *spec, int64_t line, lh_error *error) {
    const char *names[MAX_NAMES], *key;
    int count = list_names(spec, names);
    json_t *value;
    json_object_foreach(object, key, value) {
        int i = 0;
        while (i < count && strcmp(names[i], key) != 0) i++;
        if (i == count) return fail_key(key, names, count, line, error);
    }
    return LH_OK;
}
