/* See eval_data.h. */
#include "eval/eval_data.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"

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
    for (int set = 0; set < LH_SETS; set++) {
        const char *digest = json_string_value(json_object_get(data, digest_key[set]));
        if (digest != NULL && strlen(digest) < sizeof recorded->digest[set]) strcpy(recorded->digest[set], digest);
    }
    json_decref(facts);
    free(text);
}

bool lh_records_data(const char *path, const lh_spec *spec) {
    lh_recorded_data recorded;
    if (spec->data == NULL || spec->data->train == NULL) return true;
    lh_read_recorded_data(path, &recorded);
    for (int i = 0; i < LH_SETS; i++) {
        const lh_dataset *set = lh_corpus_get_set(spec->corpus, (lh_set)i);
        if (strcmp(recorded.digest[i], set != NULL ? set->digest : "") != 0) return false;
    }
    return true;
}
