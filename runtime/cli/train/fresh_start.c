/* See fresh_start.h. Run folders are untrusted: a run.json of more than LH_MAX_RUN_JSON_BYTES bytes is not read, and
 * control characters are not printed. */
#include "cli/train/fresh_start.h"

#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/json_text.h"
#include "eval/eval_data.h"

enum {
    MAX_LISTED = 256,   /* maximum number of folders in a list */
    MAX_PLANS = 3,      /* maximum number of compared plans */
    MAX_FIELDS = 12,    /* maximum number of printed fields of a plan */
    LONGEST_VALUE = 48, /* maximum number of printed bytes of a value */
    LONGEST_FIELD = 160 /* bytes for the path of a field, or a text of run.json */
};

/* A folder that list_folders finds because it contains a certain file. */
typedef struct folder {
    char name[128];
    time_t change_time; /* time of the last change of this file */
} folder;

static int compare_newest_first(const void *a, const void *b) {
    const folder *x = a, *y = b;
    if (x->change_time != y->change_time) return x->change_time > y->change_time ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool is_digest(const char *name) { return strlen(name) == 16 && strspn(name, "0123456789abcdef") == 16; }

static bool is_run_name(const char *name) {
    for (const char *byte = name; *byte != 0; byte++)
        if (!isgraph((unsigned char)*byte)) return false;
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

/* Lists the folders in `path` that have a suitable name and contain the file `file_name`, newest first; returns their
 * number. file_name ".": no file is required, and change_time is the time of the folder's own last change. */
static int list_folders(const char *path, bool (*is_suitable)(const char *name), const char *file_name,
                        folder list[MAX_LISTED]) {
    int count = 0;
    DIR *directory = opendir(path);
    if (directory == NULL) return 0;
    for (struct dirent *entry; count < MAX_LISTED && (entry = readdir(directory)) != NULL;) {
        char file_path[LH_PATH_MAX];
        struct stat file_status;
        folder *item = &list[count];
        if (!is_suitable(entry->d_name) || strlen(entry->d_name) >= sizeof item->name) continue;
        if (!put_path(file_path, "%s/%s/%s", path, entry->d_name, file_name) || stat(file_path, &file_status) != 0)
            continue;
        strcpy(item->name, entry->d_name);
        item->change_time = file_status.st_mtime;
        count++;
    }
    closedir(directory);
    qsort(list, (size_t)count, sizeof *list, compare_newest_first);
    return count;
}

/* ---- differences between two resolved specs ---- */

typedef struct comparison {
    int fields;               /* number of fields that differ so far */
    char path[LONGEST_FIELD]; /* path of the compared field */
} comparison;

static void print_value(const json_t *value) {
    char number[LH_NUMBER_TEXT];
    if (json_is_real(value)) {
        fputs(lh_write_shortest(json_real_value(value), number), stderr);
        return;
    }
    char *text = value != NULL ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT) : NULL;
    fprintf(stderr, "%.*s%s", LONGEST_VALUE, text != NULL ? text : "absent",
            text != NULL && strlen(text) > LONGEST_VALUE ? "..." : "");
    free(text);
}

static void print_field(comparison *c, const json_t *earlier, const json_t *current) {
    if (c->fields++ >= MAX_FIELDS) return;
    fprintf(stderr, "    %s: ", c->path);
    print_value(earlier);
    fprintf(stderr, " there, ");
    print_value(current);
    fputs(" here\n", stderr);
}

/* Appends ".key" to the path of the field; returns the former length of the path. */
static size_t append_key(comparison *c, const char *key) {
    size_t old_length = strlen(c->path);
    snprintf(c->path + old_length, sizeof c->path - old_length, "%s%s", old_length > 0 ? "." : "", key);
    for (char *byte = c->path + old_length; *byte != 0; byte++)
        if (!isprint((unsigned char)*byte)) *byte = '?';
    return old_length;
}

static int compare_keys(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys of both objects, sorted, without duplicates. They point into the objects; the caller frees the list. */
static const char **merge_keys(json_t *earlier, json_t *current, size_t *count) {
    const char **keys = calloc(json_object_size(earlier) + json_object_size(current) + 1, sizeof *keys), *key;
    json_t *value;
    size_t key_count = 0;
    *count = 0;
    if (keys == NULL) return NULL;
    json_object_foreach(earlier, key, value) keys[key_count++] = key;
    json_object_foreach(current, key, value) keys[key_count++] = key;
    qsort(keys, key_count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < key_count; i++)
        if (*count == 0 || strcmp(keys[*count - 1], keys[i]) != 0) keys[(*count)++] = keys[i];
    return keys;
}

/* Prints the fields that differ. Recursion ends, because jansson parses at most 2048 levels. */
static void compare_objects(comparison *c, json_t *earlier, json_t *current) {
    size_t count;
    if (json_equal(earlier, current)) return;
    const char **keys =
        json_is_object(earlier) && json_is_object(current) ? merge_keys(earlier, current, &count) : NULL;
    if (keys == NULL) {
        print_field(c, earlier, current);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t old_length = append_key(c, keys[i]);
        if (strcmp(c->path, "source") != 0) /* the path of the spec file */
            compare_objects(c, json_object_get(earlier, keys[i]), json_object_get(current, keys[i]));
        c->path[old_length] = 0;
    }
    free(keys);
}

static void compare_specs(json_t *facts, const lh_spec *spec) {
    comparison c = {.fields = 0};
    json_t *current = json_loads(spec->resolved, 0, NULL), *earlier = json_object_get(facts, "spec");
    if (json_is_object(current) && json_is_object(earlier)) {
        compare_objects(&c, earlier, current);
        if (c.fields > MAX_FIELDS) fprintf(stderr, "    and %d more fields\n", c.fields - MAX_FIELDS);
        if (c.fields == 0)
            fprintf(stderr, "    no field differs: the version of Longhand differs, or a file that the spec names\n");
    } else {
        fprintf(stderr, "    run.json has no spec to compare with\n");
    }
    json_decref(current);
}

/* ---- other runs ---- */

/* Prints the newest run of the plan `digest`, and the fields in which the spec of that run differs from the spec of
 * `run`; returns whether there is such a run. */
static bool print_plan(const lh_run *run, const char *digest) {
    static folder runs[MAX_LISTED];
    char path[LH_PATH_MAX], facts_path[LH_PATH_MAX];
    json_t *facts;
    lh_error ignored;
    if (!put_path(path, "%s/%s/%s", run->root, run->spec->id, digest)) return false;
    if (list_folders(path, is_run_name, "run.json", runs) == 0) return false;
    if (!put_path(facts_path, "%s/%s/run.json", path, runs[0].name)) return false;
    fprintf(stderr, "  there is %s/%s, of another plan:\n", path, runs[0].name);
    lh_read_facts(facts_path, &facts, &ignored);
    compare_specs(facts, run->spec);
    json_decref(facts);
    return true;
}

static void print_plans(const lh_run *run) {
    static folder plans[MAX_LISTED];
    char path[LH_PATH_MAX];
    int printed = 0, remaining = 0;
    if (!put_path(path, "%s/%s", run->root, run->spec->id)) return;
    int count = list_folders(path, is_digest, ".", plans);
    for (int i = 0; i < count; i++) {
        if (strcmp(plans[i].name, run->spec->plan_digest) == 0) continue;
        if (printed < MAX_PLANS) printed += print_plan(run, plans[i].name);
        else remaining++;
    }
    if (remaining > 0) fprintf(stderr, "  and %d more plans in %s\n", remaining, path);
    if (printed > 0)
        fprintf(stderr,
                "  hint: a run can only continue with the plan with which it began; --init FILE starts a new run from "
                "the parameters of a checkpoint\n");
}

/* Copies a text of run.json, with ? in place of each byte that is not a printable character. Returns text. */
static const char *copy_printable(const json_t *data, const char *key, char text[LONGEST_FIELD]) {
    const char *value = json_string_value(json_object_get(data, key));
    snprintf(text, LONGEST_FIELD, "%s", value != NULL ? value : "?");
    for (char *byte = text; *byte != 0; byte++)
        if (!isprint((unsigned char)*byte)) *byte = '?';
    return text;
}

/* Prints a run with the same rate and seeds that was trained on another file; returns whether there is one. */
static bool print_run_on_other_data(const lh_run *run, const char *path, const folder *runs, int count) {
    char name_start[64 + LH_SEEDS_TEXT], seeds_text[LH_SEEDS_TEXT], facts_path[LH_PATH_MAX], rate[LH_NUMBER_TEXT];
    char file[LONGEST_FIELD], digest[LONGEST_FIELD];
    const lh_dataset *train = run->spec->data != NULL ? &run->spec->corpus->train : NULL;
    json_t *facts;
    lh_error ignored;
    snprintf(name_start, sizeof name_start, "lr%s-seed%llu%s", lh_write_shortest(run->learning_rate, rate),
             (unsigned long long)run->seed, lh_write_separate_seeds(&run->separate_seeds, seeds_text));
    for (int i = 0; train != NULL && i < count; i++) {
        if (strncmp(runs[i].name, name_start, strlen(name_start)) != 0) continue;
        const char *suffix = runs[i].name + strlen(name_start);
        if (*suffix != 0 && strncmp(suffix, "-data", 5) != 0) continue;
        if (!put_path(facts_path, "%s/%s/run.json", path, runs[i].name)) continue;
        if (lh_read_facts(facts_path, &facts, &ignored) != LH_OK) continue;
        const json_t *data = json_object_get(facts, "data");
        fprintf(stderr,
                "  there is %s/%s, trained on other data: %s, whose SHA-256 is %s;\n"
                "  this run is trained on %s, whose SHA-256 is %s\n",
                path, runs[i].name, copy_printable(data, "train", file), copy_printable(data, "train_sha256", digest),
                train->path, train->digest);
        json_decref(facts);
        return true;
    }
    return false;
}

/* Prints a run of this plan that was trained on other data or, if there is none, with another rate or seed. */
static void print_similar_run(const lh_run *run) {
    static folder runs[MAX_LISTED];
    char path[LH_PATH_MAX];
    if (!put_path(path, "%s/%s/%s", run->root, run->spec->id, run->spec->plan_digest)) return;
    int count = list_folders(path, is_run_name, "checkpoint.safetensors", runs);
    if (!print_run_on_other_data(run, path, runs, count) && count > 0)
        fprintf(stderr, "  there is %s/%s, of another learning rate or seed%s\n", path, runs[0].name,
                count > 1 ? ", and others" : "");
}

void lh_print_fresh_start(const lh_train_run *train_runs, int count) {
    int fresh_count = 0;
    for (int i = 0; i < count; i++) fresh_count += !lh_run_has_checkpoint(&train_runs[i].run);
    if (fresh_count == 0) return;
    if (count == 1) fprintf(stderr, "%s: nothing to resume; the run starts at step 0\n", train_runs[0].run.directory);
    else fprintf(stderr, "%d of %d runs have nothing to resume and start at step 0\n", fresh_count, count);
    if (fresh_count < count) return;
    print_similar_run(&train_runs[0].run);
    print_plans(&train_runs[0].run);
}
