/* See fresh_start.h. Run folders are untrusted: only a limited part of a file is read, and control characters are
 * not printed. */
#include "cli/train/fresh_start.h"

#include <ctype.h>
#include <dirent.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/json_text.h"

enum {
    MOST_LISTED = 256, /* most folders that are read */
    MOST_PLANS = 3,    /* most plans that are compared */
    MOST_FIELDS = 12,  /* most printed fields of a plan */
    LONGEST_VALUE = 48,
    LONGEST_FIELD = 160
};

/* A folder inside the searched folder, and its time of modification. */
typedef struct folder {
    char name[128];
    time_t changed;
} folder;

static int newest_first(const void *a, const void *b) {
    const folder *x = a, *y = b;
    if (x->changed != y->changed) return x->changed > y->changed ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool is_digest(const char *name) { return strlen(name) == 16 && strspn(name, "0123456789abcdef") == 16; }

static bool is_run(const char *name) {
    for (const char *at = name; *at != 0; at++)
        if (!isgraph((unsigned char)*at)) return false;
    return strncmp(name, "lr", 2) == 0;
}

/* Writes a path; false: it is too long. */
__attribute__((format(printf, 2, 3))) static bool put_path(char path[LH_PATH_MAX], const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(path, LH_PATH_MAX, format, arguments);
    va_end(arguments);
    return bytes >= 0 && bytes < LH_PATH_MAX;
}

/* Lists the folders below path with fitting names that contain the file `wanted` (".": any), the newest first. */
static int list_folders(const char *path, bool (*fits)(const char *name), const char *wanted,
                        folder list[MOST_LISTED]) {
    int count = 0;
    DIR *directory = opendir(path);
    if (directory == NULL) return 0;
    for (struct dirent *entry; count < MOST_LISTED && (entry = readdir(directory)) != NULL;) {
        char below[LH_PATH_MAX];
        struct stat found;
        folder *one = &list[count];
        if (!fits(entry->d_name) || strlen(entry->d_name) >= sizeof one->name) continue;
        if (!put_path(below, "%s/%s/%s", path, entry->d_name, wanted) || stat(below, &found) != 0) continue;
        strcpy(one->name, entry->d_name);
        one->changed = found.st_mtime;
        count++;
    }
    closedir(directory);
    qsort(list, (size_t)count, sizeof *list, newest_first);
    return count;
}

/* ---- differences between two resolved specs ---- */

typedef struct comparison {
    int fields;
    char path[LONGEST_FIELD]; /* path of the compared field */
} comparison;

static void show_value(const json_t *value) {
    char number[LH_NUMBER_TEXT];
    if (json_is_real(value)) {
        fputs(lh_shortest(json_real_value(value), number), stderr);
        return;
    }
    char *text = value != NULL ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT) : NULL;
    fprintf(stderr, "%.*s%s", LONGEST_VALUE, text != NULL ? text : "absent",
            text != NULL && strlen(text) > LONGEST_VALUE ? "..." : "");
    free(text);
}

static void show_field(comparison *c, const json_t *there, const json_t *here) {
    if (c->fields++ >= MOST_FIELDS) return;
    fprintf(stderr, "    %s: ", c->path);
    show_value(there);
    fprintf(stderr, " there, ");
    show_value(here);
    fputs(" here\n", stderr);
}

/* Appends ".key" to the path; returns its former length. */
static size_t enter(comparison *c, const char *key) {
    size_t before = strlen(c->path);
    snprintf(c->path + before, sizeof c->path - before, "%s%s", before > 0 ? "." : "", key);
    for (char *at = c->path + before; *at != 0; at++)
        if (!isprint((unsigned char)*at)) *at = '?';
    return before;
}

static int compare_keys(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys of both objects, sorted, without duplicates, for free(); they point into the objects. */
static const char **keys_of(json_t *there, json_t *here, size_t *count) {
    const char **keys = calloc(json_object_size(there) + json_object_size(here) + 1, sizeof *keys), *key;
    json_t *value;
    size_t all = 0;
    *count = 0;
    if (keys == NULL) return NULL;
    json_object_foreach(there, key, value) keys[all++] = key;
    json_object_foreach(here, key, value) keys[all++] = key;
    qsort(keys, all, sizeof *keys, compare_keys);
    for (size_t i = 0; i < all; i++)
        if (*count == 0 || strcmp(keys[*count - 1], keys[i]) != 0) keys[(*count)++] = keys[i];
    return keys;
}

/* Prints the fields that differ. Recursion ends, because jansson parses at most 2048 levels. */
static void compare(comparison *c, json_t *there, json_t *here) {
    size_t count;
    if (json_equal(there, here)) return;
    const char **keys = json_is_object(there) && json_is_object(here) ? keys_of(there, here, &count) : NULL;
    if (keys == NULL) {
        show_field(c, there, here);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t before = enter(c, keys[i]);
        if (strcmp(c->path, "source") != 0) compare(c, json_object_get(there, keys[i]), json_object_get(here, keys[i]));
        c->path[before] = 0;
    }
    free(keys);
}

static void compare_specs(json_t *facts, const lh_spec *spec) {
    comparison c = {.fields = 0};
    json_t *here = json_loads(spec->resolved, 0, NULL), *there = json_object_get(facts, "spec");
    if (json_is_object(here) && json_is_object(there)) {
        compare(&c, there, here);
        if (c.fields > MOST_FIELDS) fprintf(stderr, "    and %d more fields\n", c.fields - MOST_FIELDS);
        if (c.fields == 0)
            fprintf(stderr, "    no field differs: the version of Longhand differs, or a file that the spec names\n");
    } else {
        fprintf(stderr, "    its run.json has no spec to compare with\n");
    }
    json_decref(here);
}

/* ---- other runs ---- */

/* Prints the newest run of another plan, and the differences between its spec and this one. */
static bool print_plan(const lh_run *run, const char *digest) {
    static folder runs[MOST_LISTED];
    char path[LH_PATH_MAX], name[LH_PATH_MAX], *text = NULL;
    size_t bytes;
    lh_error error;
    if (!put_path(path, "%s/%s/%s", run->root, run->spec->id, digest)) return false;
    if (list_folders(path, is_run, "run.json", runs) == 0) return false;
    if (!put_path(name, "%s/%s/run.json", path, runs[0].name)) return false;
    fprintf(stderr, "  there is %s/%s, of another plan:\n", path, runs[0].name);
    json_t *facts = NULL;
    if (lh_read_text(name, LH_MOST_FACTS, &text, &bytes, &error) == LH_OK) facts = json_loadb(text, bytes, 0, NULL);
    compare_specs(facts, run->spec);
    json_decref(facts);
    free(text);
    return true;
}

static void print_plans(const lh_run *run) {
    static folder plans[MOST_LISTED];
    char path[LH_PATH_MAX];
    int told = 0, left = 0;
    if (!put_path(path, "%s/%s", run->root, run->spec->id)) return;
    int count = list_folders(path, is_digest, ".", plans);
    for (int i = 0; i < count; i++) {
        if (strcmp(plans[i].name, run->spec->plan_digest) == 0) continue;
        if (told < MOST_PLANS) told += print_plan(run, plans[i].name);
        else left++;
    }
    if (left > 0) fprintf(stderr, "  and %d more plans in %s\n", left, path);
    if (told > 0)
        fprintf(stderr,
                "  hint: a run can only continue with the plan with which it began; --init FILE starts a new run from "
                "the parameters of a checkpoint\n");
}

/* Copies a text of run.json without control characters. */
static const char *shown(const json_t *data, const char *key, char text[LONGEST_FIELD]) {
    const char *value = json_string_value(json_object_get(data, key));
    snprintf(text, LONGEST_FIELD, "%s", value != NULL ? value : "?");
    for (char *at = text; *at != 0; at++)
        if (!isprint((unsigned char)*at)) *at = '?';
    return text;
}

/* Prints a run with the same rate and seed that was trained on another file; returns whether there is one. */
static bool print_data(const lh_run *run, const char *path, const folder *runs, int count) {
    char own[64], name[LH_PATH_MAX], rate[LH_NUMBER_TEXT], file[LONGEST_FIELD], digest[LONGEST_FIELD], *text;
    const lh_dataset *train = run->spec->data != NULL ? &run->spec->corpus->train : NULL;
    size_t bytes;
    lh_error ignored;
    snprintf(own, sizeof own, "lr%s-seed%llu", lh_shortest(run->learning_rate, rate), (unsigned long long)run->seed);
    for (int i = 0; train != NULL && i < count; i++) {
        const char *rest = runs[i].name + strlen(own);
        if (strncmp(runs[i].name, own, strlen(own)) != 0 || (*rest != 0 && strncmp(rest, "-data", 5) != 0)) continue;
        if (!put_path(name, "%s/%s/run.json", path, runs[i].name)) continue;
        if (lh_read_text(name, LH_MOST_FACTS, &text, &bytes, &ignored) != LH_OK) continue;
        json_t *facts = json_loadb(text, bytes, 0, NULL), *data = json_object_get(facts, "data");
        fprintf(stderr,
                "  there is %s/%s, trained on other data: %s, whose SHA-256 is %s;\n"
                "  this run is trained on %s, whose SHA-256 is %s\n",
                path, runs[i].name, shown(data, "train", file), shown(data, "train_sha256", digest), train->path,
                train->digest);
        json_decref(facts);
        free(text);
        return true;
    }
    return false;
}

/* Prints a run of this plan with other data, or else with another rate or seed. */
static void print_runs(const lh_run *run) {
    static folder runs[MOST_LISTED];
    char path[LH_PATH_MAX];
    if (!put_path(path, "%s/%s/%s", run->root, run->spec->id, run->spec->plan_digest)) return;
    int count = list_folders(path, is_run, "checkpoint.safetensors", runs);
    if (!print_data(run, path, runs, count) && count > 0)
        fprintf(stderr, "  there is %s/%s, of another learning rate or seed%s\n", path, runs[0].name,
                count > 1 ? ", and others" : "");
}

void lh_print_fresh_start(const lh_train_run *train_runs, int count) {
    int fresh = 0;
    for (int i = 0; i < count; i++) fresh += !lh_run_has_checkpoint(&train_runs[i].run);
    if (fresh == 0) return;
    if (count == 1) fprintf(stderr, "%s: nothing to resume, it starts at step 0\n", train_runs[0].run.directory);
    else fprintf(stderr, "%d of %d runs have nothing to resume, they start at step 0\n", fresh, count);
    if (fresh < count) return;
    print_runs(&train_runs[0].run);
    print_plans(&train_runs[0].run);
}
