/* See eval_data.h. */
#define _GNU_SOURCE /* asprintf */
#include "eval/eval_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"

static const char *const digest_key[LH_SETS] = {"train_sha256", "eval_sha256", "validation_sha256"};

lh_status lh_read_facts(const char *path, json_t **facts, lh_error *error) {
    char *text;
    size_t bytes;
    lh_status status = lh_read_text(path, LH_MAX_RUN_JSON_BYTES, &text, &bytes, error);
    *facts = status == LH_OK ? json_loadb(text, bytes, 0, NULL) : NULL;
    free(text);
    return status;
}

void lh_read_recorded_data(const char *path, lh_recorded_data *recorded) {
    char *folder = lh_copy_directory(path), *facts_path = NULL;
    json_t *facts = NULL;
    lh_error ignored;
    memset(recorded, 0, sizeof *recorded);
    if (folder != NULL && asprintf(&facts_path, "%s/run.json", folder) < 0) facts_path = NULL;
    if (facts_path != NULL) lh_read_facts(facts_path, &facts, &ignored);
    const json_t *data = json_object_get(facts, "data");
    for (int set = 0; set < LH_SETS; set++) {
        const char *digest = json_string_value(json_object_get(data, digest_key[set]));
        if (digest != NULL && strlen(digest) < sizeof recorded->digest[set]) strcpy(recorded->digest[set], digest);
    }
    json_decref(facts);
    free(facts_path);
    free(folder);
}

bool lh_recorded_data_matches_spec(const char *path, const lh_spec *spec) {
    lh_recorded_data recorded;
    if (spec->data == NULL || spec->data->train == NULL) return true;
    lh_read_recorded_data(path, &recorded);
    for (int i = 0; i < LH_SETS; i++) {
        const lh_dataset *set = lh_corpus_get_set(spec->corpus, (lh_set)i);
        if (strcmp(recorded.digest[i], set != NULL ? set->digest : "") != 0) return false;
    }
    return true;
}
