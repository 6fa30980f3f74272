/* See defaults.h. */
#include "training/defaults.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "data/datasets/example_groups.h"

enum { DIGEST_DIGITS = 16, HEAD_BYTES = 96 /* maximum bytes of the first line */, MAX_INTEGER = INT32_MAX };

/* Types of fields. */
typedef enum value_kind {
    INTEGER, /* int */
    LONG,    /* int64_t */
    NUMBER,  /* double */
    SWITCH,  /* bool */
    LENGTHS, /* lh_lengths */
    STEPS,   /* keep_steps and keep_steps_count of lh_train_defaults */
    BY,      /* lh_by */
    NOISE,   /* lh_noise */
    SETS,    /* unsigned, a sum of 1 << lh_set */
    TEXT     /* const char * */
} value_kind;

static const struct {
    const char *name;
    value_kind kind;
    size_t offset; /* offset of the field in lh_spec; STEPS: offset of lh_spec.train */
} fields[] = {
    {"train.steps", LONG, offsetof(lh_spec, train.steps)},
    {"train.epochs", LONG, offsetof(lh_spec, train.epochs)},
    {"train.learning_rate", NUMBER, offsetof(lh_spec, train.learning_rate)},
    {"train.by_epochs", SWITCH, offsetof(lh_spec, train.by_epochs)},
    {"train.log_every", LONG, offsetof(lh_spec, train.log_every)},
    {"train.checkpoint_every", LONG, offsetof(lh_spec, train.checkpoint_every)},
    {"train.checkpoint_minutes", NUMBER, offsetof(lh_spec, train.checkpoint_minutes)},
    {"train.keep_all", SWITCH, offsetof(lh_spec, train.keep_all)},
    {"train.keep_steps", STEPS, offsetof(lh_spec, train)},
    {"train.best", TEXT, offsetof(lh_spec, train.best)},
    {"train.best_earliest", SWITCH, offsetof(lh_spec, train.best_earliest)},
    {"train.patience", LONG, offsetof(lh_spec, train.patience)},
    {"train.init", TEXT, offsetof(lh_spec, train.init)},
    {"train.init_checksum", TEXT, offsetof(lh_spec, train.init_checksum)},
    {"eval.lengths", LENGTHS, offsetof(lh_spec, eval.lengths)},
    {"eval.by", BY, offsetof(lh_spec, eval.by)},
    {"eval.noise", NOISE, offsetof(lh_spec, eval.noise)},
    {"eval.passes", LENGTHS, offsetof(lh_spec, eval.passes)},
    {"eval.sets", SETS, offsetof(lh_spec, eval.sets)},
    {"eval.examples", INTEGER, offsetof(lh_spec, eval.examples)},
    {"eval.in_order", SWITCH, offsetof(lh_spec, eval.in_order)},
    {"eval.with_trained", SWITCH, offsetof(lh_spec, eval.with_trained)},
    {"eval.batch", INTEGER, offsetof(lh_spec, eval.batch)},
    {"eval.draws", INTEGER, offsetof(lh_spec, eval.draws)},
    {"eval.teacher_forced", SWITCH, offsetof(lh_spec, eval.teacher_forced)},
    {"eval.places", SWITCH, offsetof(lh_spec, eval.places)},
    {"eval.validation_lengths", LENGTHS, offsetof(lh_spec, eval.validation_lengths)},
    {"eval.validation_examples", INTEGER, offsetof(lh_spec, eval.validation_examples)},
    {"eval.during_every", LONG, offsetof(lh_spec, eval.during_every)},
    {"eval.during_lengths", LENGTHS, offsetof(lh_spec, eval.during_lengths)},
    {"eval.during_by", BY, offsetof(lh_spec, eval.during_by)},
    {"eval.during_sets", SETS, offsetof(lh_spec, eval.during_sets)},
    {"eval.during_examples", INTEGER, offsetof(lh_spec, eval.during_examples)},
    {"resolved", TEXT, offsetof(lh_spec, resolved)},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static lh_status fail_damaged(lh_error *error, const lh_spec *spec, const char *found, const char *expected) {
    int shown_bytes = (int)strcspn(found, "\n");
    return lh_fail(error, LH_ERR_INPUT,
                   "the steps, learning rate and evaluation that this program stores are damaged: %.*s\n"
                   "  expected: %s\n  hint: ./longhand build makes the trainer of %s again",
                   shown_bytes < 80 ? shown_bytes : 80, found, expected, spec->id);
}

/* Reads an integer from 0 to `limit` at *cursor, and moves *cursor past it; false: there is no such integer. */
static bool take_integer(char **cursor, int64_t limit, int64_t *value) {
    if (**cursor < '0' || **cursor > '9') return false;
    errno = 0;
    *value = strtoll(*cursor, cursor, 10);
    return errno == 0 && *value <= limit;
}

/* Parses first:last:step. */
static bool take_range(char *text, lh_lengths *lengths) {
    int64_t first, last, step;
    if (!take_integer(&text, MAX_INTEGER, &first) || *text++ != ':' || !take_integer(&text, MAX_INTEGER, &last) ||
        *text++ != ':' || !take_integer(&text, MAX_INTEGER, &step) || *text != 0)
        return false;
    *lengths = (lh_lengths){.first = (int)first, .last = (int)last, .step = (int)step};
    return step > 0;
}

/* Allocates a list for the comma-separated values of a text. NULL: there are too many lists, or no memory. */
static void *open_list(lh_defaults *d, const char *text, size_t bytes, int *count) {
    *count = 1;
    for (; *text != 0; text++) *count += *text == ',';
    void *list = d->lists < LH_DEFAULTS_LISTS ? calloc((size_t)*count, bytes) : NULL;
    if (list != NULL) d->list[d->lists++] = list;
    return list;
}

/* Parses comma-separated integers to a list of int32_t or int64_t. bytes: the size of an element. NULL: the text is
 * invalid, or open_list failed. */
static void *take_list(lh_defaults *d, char *text, size_t bytes, int *count) {
    void *list = open_list(d, text, bytes, count);
    for (int i = 0; list != NULL && i < *count; i++) {
        int64_t value = 0;
        bool is_small = bytes == sizeof(int32_t);
        if (!take_integer(&text, is_small ? MAX_INTEGER : INT64_MAX, &value)) return NULL;
        if (*text++ != (i + 1 < *count ? ',' : 0)) return NULL;
        if (is_small) ((int32_t *)list)[i] = (int32_t)value;
        else ((int64_t *)list)[i] = value;
    }
    return list;
}

static bool take_lengths(lh_defaults *d, char *text, lh_lengths *lengths) {
    if (strchr(text, ':') != NULL) return take_range(text, lengths);
    lengths->list = take_list(d, text, sizeof(int32_t), &lengths->count);
    return lengths->list != NULL;
}

/* Finds the length, an axis of the task or `trained` by its name. false: there is no such axis. */
static bool find_axis(const lh_spec *spec, const char *name, int *axis) {
    *axis = LH_BY_LENGTH;
    if (strcmp(name, spec->eval.axis) == 0) return true;
    for (*axis = spec->task->axes - 1; *axis >= 0; --*axis)
        if (strcmp(name, spec->task->axis[*axis]) == 0) return true;
    *axis = LH_BY_TRAINED;
    return strcmp(name, lh_trained_axis) == 0 && spec->data != NULL && spec->data->train != NULL;
}

/* Parses "vectors=*;digits=1:50:1", and sorts the axes by index. */
static bool take_by(lh_defaults *d, char *text, lh_by *by) {
    for (char *entry; (entry = strsep(&text, ";")) != NULL;) {
        char *value = strchr(entry, '=');
        int axis, index = by->count;
        if (value == NULL || by->count == LH_MAX_AXES) return false;
        *value++ = 0;
        if (!find_axis(&d->spec, entry, &axis)) return false;
        for (; index > 0 && by->axes[index - 1].axis >= axis; index--) by->axes[index] = by->axes[index - 1];
        memset(&by->axes[index], 0, sizeof by->axes[index]);
        by->axes[index].axis = axis;
        by->axes[index].all = strcmp(value, "*") == 0;
        by->count++;
        if (!by->axes[index].all && !take_lengths(d, value, &by->axes[index].values)) return false;
    }
    return true;
}

/* Parses "0,0.5,1". */
static bool take_noise(lh_defaults *d, char *text, lh_noise *noise) {
    double *list = open_list(d, text, sizeof *list, &noise->count);
    noise->deviation = list;
    for (int i = 0; list != NULL && i < noise->count; i++) {
        char *end = text;
        list[i] = strtod(text, &end);
        if (end == text || !(list[i] >= 0 && list[i] < HUGE_VAL) || (i > 0 && !(list[i] > list[i - 1]))) return false;
        if (*end != (i + 1 < noise->count ? ',' : 0)) return false;
        text = end + 1;
    }
    return list != NULL;
}

/* Parses "100,1000". */
static bool take_steps(lh_defaults *d, char *text, lh_train_defaults *train) {
    train->keep_steps = take_list(d, text, sizeof(int64_t), &train->keep_steps_count);
    return train->keep_steps != NULL;
}

static bool take_number(char *text, double *value) {
    *value = strtod(text, &text);
    return *text == 0 && *value >= 0;
}

/* Parses a value of this kind, and stores it in *field. */
static bool take_value(lh_defaults *d, value_kind kind, void *field, char *text) {
    int64_t integer = 0;
    switch (kind) {
    case TEXT: *(const char **)field = text; return true;
    case SWITCH: return *(bool *)field = strcmp(text, "true") == 0;
    case NUMBER: return take_number(text, field);
    case LENGTHS: return take_lengths(d, text, field);
    case STEPS: return take_steps(d, text, field);
    case BY: return take_by(d, text, field);
    case NOISE: return take_noise(d, text, field);
    case SETS: return (*(unsigned *)field = lh_sets_parse(text)) != 0;
    case LONG: return take_integer(&text, INT64_MAX, field) && *text == 0;
    case INTEGER:
        if (!take_integer(&text, MAX_INTEGER, &integer) || *text != 0) return false;
        *(int *)field = (int)integer;
        return true;
    }
    return false;
}

/* Parses "name value". */
static bool take_line(lh_defaults *d, char *line) {
    char *blank = strchr(line, ' ');
    if (blank == NULL) return false;
    *blank = 0;
    for (int i = 0; i < FIELDS; i++)
        if (strcmp(fields[i].name, line) == 0)
            return take_value(d, fields[i].kind, (char *)&d->spec + fields[i].offset, blank + 1);
    *blank = ' ';
    return false;
}

/* Compares the digest with the environment variable LONGHAND_DEFAULTS, if it is set. */
static lh_status check_expected(const char *digest, lh_error *error) {
    const char *expected = getenv("LONGHAND_DEFAULTS");
    if (expected == NULL || strncmp(expected, digest, DIGEST_DIGITS) == 0) return LH_OK;
    return lh_fail(error, LH_ERR_STALE,
                   "this trainer was given other defaults (steps, learning rate, evaluation) by another build\n"
                   "  expected: LONGHAND_DEFAULTS=%.16s, found: %.16s\n  hint: repeat the command",
                   expected, digest);
}

/* Checks the version, size and digest in the first line. *body: the following lines. */
static lh_status check_head(lh_defaults *d, const lh_spec *spec, char **body, lh_error *error) {
    char digest[LH_SHA256_TEXT], head[HEAD_BYTES];
    *body = d->text + strcspn(d->text, "\n");
    *body += **body != 0;
    lh_sha256(*body, strlen(*body), digest);
    int bytes = snprintf(head, sizeof head, "longhand defaults %d %d %.*s\n", LH_DEFAULTS_VERSION,
                         spec->defaults_capacity, DIGEST_DIGITS, digest);
    if (*body - d->text == bytes && memcmp(d->text, head, (size_t)bytes) == 0) return check_expected(digest, error);
    head[bytes - 1] = 0;
    return fail_damaged(error, spec, d->text, head);
}

lh_status lh_defaults_open(lh_defaults *d, const lh_spec *spec, lh_error *error) {
    memset(d, 0, sizeof *d);
    d->spec = *spec;
    if (spec->defaults == NULL) return LH_OK;
    if (memchr(spec->defaults, 0, (size_t)spec->defaults_capacity) == NULL)
        return fail_damaged(error, spec, "a text without a terminating 0", "a 0 at the end of the text");
    d->text = strdup(spec->defaults);
    if (d->text == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for the trainer's defaults");
    char *line = d->text;
    lh_status status = check_head(d, spec, &line, error);
    while (status == LH_OK && *line != 0) {
        char *end = line + strcspn(line, "\n"), *next = end + (*end != 0);
        *end = 0;
        if (!take_line(d, line)) status = fail_damaged(error, spec, line, "a name and its value");
        line = next;
    }
    if (status == LH_OK && d->spec.resolved == NULL)
        status = fail_damaged(error, spec, "a text that ends too soon", "a line with the field `resolved`");
    return status;
}

void lh_defaults_close(lh_defaults *d) {
    for (int i = 0; i < d->lists; i++) free(d->list[i]);
    free(d->text);
}
