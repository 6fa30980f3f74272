/* See eval_data.h. */
#include "eval/eval_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/json_text.h"

static const char *const digest_key[LH_SETS] = {"train_sha256", "eval_sha256", "validation_sha256"};

void lh_read_recorded_data(const char *path, lh_recorded_data *recorded) {
    char facts_path[LH_PATH_MAX], *text;
    const char *slash = strrchr(path, '/');
    int folder = slash != NULL ? (int)(slash - path) : 1;
    size_t bytes;
    lh_error ignored;
    memset(recorded, 0, sizeof *recorded);
    int used = snprintf(facts_path, sizeof facts_path, "%.*s/run.json", folder, slash != NULL ? path : ".");
    if (used < 0 || (size_t)used >= sizeof facts_path || access(facts_path, F_OK) != 0) return;
    if (lh_read_text(facts_path, LH_MOST_FACTS, &text, &bytes, &ignored) != LH_OK) return;
    json_t *facts = json_loadb(text, bytes, 0, NULL), *data = json_object_get(facts, "data");
    recorded->tells_loss = json_is_string(json_object_get(facts, "loss"));
    for (int set = 0; set < LH_SETS; set++) {
        const char *digest = json_string_value(json_object_get(data, digest_key[set]));
        if (digest != NULL && strlen(digest) < sizeof recorded->digest[set]) strcpy(recorded->digest[set], digest);
    }
    json_decref(facts);
    free(text);
}

bool lh_is_from_data(const json_t *line, const lh_eval_result *result, const lh_recorded_data *recorded) {
    const char *digits = json_string_value(json_object_get(line, "data"));
    if (result->data == NULL) return digits == NULL;
    if (digits != NULL) return strlen(digits) == LH_DATA_DIGITS && strncmp(digits, result->data, LH_DATA_DIGITS) == 0;
    return strcmp(recorded->digest[result->group->set], result->data) == 0;
}

/* The set of a line. Lines of evaluations during training name the set if there are several; otherwise it is the
 * held-out set, or the training set. */
static lh_set read_set(const json_t *line, const lh_recorded_data *recorded) {
    const char *name = json_string_value(json_object_get(line, "set"));
    if (name == NULL) name = json_string_value(json_object_get(line, "split"));
    for (int set = 0; name != NULL && set < LH_SETS; set++)
        if (strcmp(name, lh_set_name[set]) == 0) return (lh_set)set;
    return recorded->digest[LH_SET_TEST][0] != 0         ? LH_SET_TEST
           : recorded->digest[LH_SET_VALIDATION][0] != 0 ? LH_SET_VALIDATION
                                                         : LH_SET_TRAIN;
}

/* Writes a line with the digits of its file inserted before its seed or its end. */
static void write_marked(FILE *out, const char *text, const lh_recorded_data *recorded) {
    json_t *line = json_loads(text, 0, NULL);
    const char *digest = json_is_object(line) ? recorded->digest[read_set(line, recorded)] : "";
    if (digest[0] == 0 || json_object_get(line, "data") != NULL) {
        fprintf(out, "%s\n", text);
    } else {
        const char *end = strrchr(text, '}'), *seed = strstr(text, ",\"seed\":");
        if (seed != NULL) end = seed;
        fprintf(out, "%.*s,\"data\":\"%.*s\"%s\n", (int)(end - text), text, LH_DATA_DIGITS, digest, end);
    }
    json_decref(line);
}

static bool has_files(const lh_spec *spec) { return spec->data != NULL && spec->data->train != NULL; }

bool lh_records_data(const char *path, const lh_spec *spec) {
    lh_recorded_data recorded;
    if (!has_files(spec)) return true;
    lh_read_recorded_data(path, &recorded);
    for (int i = 0; i < LH_SETS; i++) {
        const lh_dataset *set = lh_corpus_set(spec->corpus, (lh_set)i);
        if (strcmp(recorded.digest[i], set != NULL ? set->digest : "") != 0) return false;
    }
    return true;
}

lh_status lh_mark_lines(const char *path, const lh_spec *spec, lh_error *error) {
    lh_recorded_data recorded;
    char *text;
    size_t bytes;
    lh_text marked;
    if (!has_files(spec) || access(path, F_OK) != 0 || lh_records_data(path, spec)) return LH_OK;
    lh_read_recorded_data(path, &recorded);
    lh_status status = lh_read_file(path, &text, &bytes, error);
    if (status != LH_OK) return status;
    status = lh_text_open(&marked, error);
    for (char *rest = text, *line_text; status == LH_OK && (line_text = strsep(&rest, "\n")) != NULL;)
        if (line_text[0] != 0) write_marked(marked.out, line_text, &recorded);
    free(text);
    if (status != LH_OK) return status;
    status = lh_text_close(&marked, error);
    if (status == LH_OK) status = lh_replace_file(path, marked.text, marked.bytes, error);
    free(marked.text);
    return status;
}
