/* See data_paths.h. */
#include "cli/data_paths.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/sha256.h"
#include "eval/eval_data.h"

/* Maximum number of searched folders: the folder where the run was trained, and the seven innermost folders that
 * contain the checkpoint. */
enum { MAX_FOLDERS = 8 };

typedef struct search {
    const char *path;   /* path in the spec */
    const char *name;   /* last part of the path */
    const char *digest; /* required digest of the file */
    char *found_path;   /* [LH_PATH_MAX] the path that is tried; after a successful search, the file's path */
    char folders[2048]; /* searched folders, for the message */
} search;

/* Whether the file at `found_path` exists and has the digest of the run. */
static bool has_digest(const search *s) {
    char *text, digest[LH_SHA256_TEXT];
    size_t bytes;
    lh_error ignored;
    if (access(s->found_path, R_OK) != 0 || lh_read_file(s->found_path, &text, &bytes, &ignored) != LH_OK) return false;
    lh_sha256(text, bytes, digest);
    free(text);
    return strcmp(digest, s->digest) == 0;
}

/* Searches a folder, and adds it to the list of searched folders. Returns whether the file is there. */
static bool find_in_folder(search *s, const char *folder) {
    size_t used = strlen(s->folders);
    snprintf(s->folders + used, sizeof s->folders - used, "%s%s", used > 0 ? ", " : "", folder);
    const char *const names[] = {s->path[0] == '/' ? s->name : s->path, s->name};
    for (int i = 0; i < 2; i++) {
        int bytes = snprintf(s->found_path, LH_PATH_MAX, "%s/%s", folder, names[i]);
        if (bytes > 0 && bytes < LH_PATH_MAX && has_digest(s)) return true;
    }
    return false;
}

/* The folder where the run was trained, which the caller frees; NULL: run.json has no absolute path. */
static char *find_training_folder(const char *facts_path) {
    json_t *facts;
    lh_error ignored;
    lh_read_facts(facts_path, &facts, &ignored);
    const char *value = json_string_value(json_object_get(json_object_get(facts, "data"), "directory"));
    char *folder = value != NULL && value[0] == '/' ? strdup(value) : NULL;
    json_decref(facts);
    return folder;
}

/* Searches the folders that contain the checkpoint, beginning with the innermost; returns whether one has the file. */
static bool search_outer_folders(search *s, const char *checkpoint) {
    char *folder = realpath(checkpoint, NULL), *slash;
    bool is_found = false;
    for (int i = 1; folder != NULL && !is_found && i < MAX_FOLDERS && (slash = strrchr(folder, '/')) > folder; i++) {
        *slash = 0;
        is_found = find_in_folder(s, folder);
    }
    free(folder);
    return is_found;
}

lh_status lh_find_data(const char *path, lh_set set, const char *checkpoint, char found_path[LH_PATH_MAX],
                       lh_error *error) {
    char facts[LH_PATH_MAX];
    lh_recorded_data recorded;
    if ((size_t)snprintf(found_path, LH_PATH_MAX, "%s", path) >= LH_PATH_MAX)
        return lh_fail(error, LH_ERR_INPUT, "%.200s...: the path is too long", path);
    const char *slash = checkpoint != NULL ? strrchr(checkpoint, '/') : NULL, *name = strrchr(path, '/');
    if (checkpoint == NULL || access(path, F_OK) == 0) return LH_OK;
    const char *folder = slash != NULL ? checkpoint : ".";
    const int folder_bytes = slash != NULL ? (int)(slash - checkpoint) : 1;
    if (snprintf(facts, sizeof facts, "%.*s/run.json", folder_bytes, folder) >= LH_PATH_MAX) return LH_OK;
    lh_read_recorded_data(facts, &recorded);
    search s = {
        .path = path, .name = name != NULL ? name + 1 : path, .digest = recorded.digest[set], .found_path = found_path};
    if (s.digest[0] == 0) return LH_OK; /* run.json is missing or has no digest of the file */
    char *training_folder = find_training_folder(facts);
    bool is_found =
        (training_folder != NULL && find_in_folder(&s, training_folder)) || search_outer_folders(&s, checkpoint);
    free(training_folder);
    if (is_found) {
        fprintf(stderr, "%s: read from %s\n", path, found_path);
        return LH_OK;
    }
    return lh_fail(error, LH_ERR_INPUT,
                   "%s: no such file\n  the run used a file with SHA-256 %.16s..., which is not in: %.1200s\n"
                   "  hint: %s FILE names another file",
                   path, s.digest, s.folders,
                   set == LH_SET_TRAIN  ? "--data"
                   : set == LH_SET_TEST ? "--eval-data"
                                        : "--validation");
}
