/* See options.h. */
#include "cli/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/usual_flags.h"

enum { MAX_NAME_BYTES = 40 };

/* Counts edits (insert, remove, replace) between two words; MAX_NAME_BYTES if a word has more bytes. */
static int count_edits(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    int row[MAX_NAME_BYTES + 1]; /* row[j]: edits between the first i bytes of a and the first j bytes of b */
    if (n > MAX_NAME_BYTES || m > MAX_NAME_BYTES) return MAX_NAME_BYTES;
    for (size_t j = 0; j <= m; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int replace_edits = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            int insert_edits = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = replace_edits < insert_edits ? replace_edits : insert_edits;
        }
    }
    return row[m];
}

const char *lh_find_nearest_name(const char *word, const void *names, int count, size_t stride) {
    const char *closest_name = NULL;
    int min_edits = (int)strlen(word) / 3 + 2;
    for (int i = 0; i < count; i++) {
        const char *name = *(const char *const *)(const void *)((const char *)names + (size_t)i * stride);
        int edits = strncmp(name, word, strlen(word)) == 0 ? 1 : count_edits(word, name);
        if (edits < min_edits) {
            min_edits = edits;
            closest_name = name;
        }
    }
    return closest_name;
}

static const lh_option *find_option(const lh_option *options, int count, const char *word, size_t bytes) {
    for (int i = 0; i < count; i++)
        if (strlen(options[i].name) == bytes && strncmp(options[i].name, word, bytes) == 0) return &options[i];
    return NULL;
}

static lh_status fail_flag(const lh_verb *verb, const lh_option *options, int count, const char *word, size_t bytes,
                           lh_error *error) {
    char name[MAX_NAME_BYTES + 2];
    bool is_field;
    snprintf(name, sizeof name, "%.*s", bytes < MAX_NAME_BYTES ? (int)bytes : MAX_NAME_BYTES, word);
    if (word[0] != '-')
        return lh_fail(error, LH_ERR_USAGE, "%s: '%s' is not a flag\n  hint: %s --help lists the flags", verb->name,
                       name, verb->name);
    const char *suggestion = lh_find_usual_flag(name, options, count, &is_field);
    if (suggestion != NULL && is_field)
        return lh_fail(error, LH_ERR_USAGE, "%s: no such flag: %s\n  hint: %s is a field of the spec", verb->name, name,
                       suggestion);
    if (suggestion == NULL) suggestion = lh_find_nearest_name(name, &options[0].name, count, sizeof *options);
    if (suggestion == NULL)
        return lh_fail(error, LH_ERR_USAGE, "%s: no such flag: %s\n  hint: %s --help lists the flags", verb->name, name,
                       verb->name);
    return lh_fail(error, LH_ERR_USAGE, "%s: no such flag: %s\n  hint: did you mean %s?", verb->name, name, suggestion);
}

static lh_status fail_number(const lh_option *option, const char *text, const char *expected, lh_error *error) {
    const char *form = option->kind == LH_OPTION_RANGE ? "A:B (both included), or one integer," : expected;
    return lh_fail(error, LH_ERR_USAGE, "%s: '%.80s' is not %s\n  expected: %s from %.16g to %.16g", option->name, text,
                   expected, form, option->min, option->max);
}

/* Reads a number in the option's range, which must end at one of the characters `ends` or at the end of the text; *text
 * moves there. expected: the kind of number in words, such as "an integer". */
static lh_status take_number(const lh_option *option, const char **text, const char *ends, const char *expected,
                             double *value, lh_error *error) {
    char *end;
    *value = strtod(*text, &end);
    if (end == *text || (*end != 0 && strchr(ends, *end) == NULL) || !isfinite(*value))
        return fail_number(option, *text, expected, error);
    if (*value < option->min || *value > option->max)
        return lh_fail(error, LH_ERR_USAGE, "%s: %.80s is out of range\n  expected: from %.16g to %.16g", option->name,
                       *text, option->min, option->max);
    *text = end;
    return LH_OK;
}

/* Reads an integer, which may be written like 2e6. */
static lh_status take_integer(const lh_option *option, const char **text, const char *ends, int64_t *integer,
                              lh_error *error) {
    double value;
    const char *start = *text;
    lh_status status = take_number(option, text, ends, "an integer", &value, error);
    if (status != LH_OK) return status;
    if (value != floor(value)) return fail_number(option, start, "an integer", error);
    *integer = (int64_t)value;
    return LH_OK;
}

static lh_status parse_integer(const lh_option *option, const char *text, lh_error *error) {
    return take_integer(option, &text, "", option->value, error);
}

static lh_status parse_count(const lh_option *option, const char *text, lh_error *error) {
    if (strcmp(text, "all") != 0) return parse_integer(option, text, error);
    *(int64_t *)option->value = 0;
    return LH_OK;
}

static lh_status parse_number(const lh_option *option, const char *text, lh_error *error) {
    return take_number(option, &text, "", "a number", option->value, error);
}

static lh_status parse_range(const lh_option *option, const char *text, lh_error *error) {
    lh_option_range *range = option->value;
    const char *cursor = text;
    lh_status status = take_integer(option, &cursor, ":", &range->first, error);
    range->last = range->first;
    if (status == LH_OK && *cursor == ':') {
        cursor++;
        status = take_integer(option, &cursor, "", &range->last, error);
    }
    if (status == LH_OK && range->last < range->first)
        return lh_fail(error, LH_ERR_USAGE, "%s: %.80s ends before it starts\n  expected: A:B, both included",
                       option->name, text);
    return status;
}

static lh_status parse_numbers(const lh_option *option, const char *text, lh_error *error) {
    lh_option_numbers *numbers = option->value;
    lh_status status = LH_OK;
    numbers->count = 0;
    for (const char *cursor = text; status == LH_OK;) {
        double value = 0;
        if (numbers->count == LH_OPTION_MAX_NUMBERS)
            return lh_fail(error, LH_ERR_USAGE, "%s: too many values\n  expected: at most %d", option->name,
                           LH_OPTION_MAX_NUMBERS);
        status = take_number(option, &cursor, ",", "a number", &value, error);
        for (int i = 0; status == LH_OK && i < numbers->count; i++)
            if (numbers->list[i] == value)
                return lh_fail(error, LH_ERR_USAGE, "%s: %.15g is given twice\n  expected: each value once",
                               option->name, value);
        if (status == LH_OK) numbers->list[numbers->count++] = value;
        if (status == LH_OK && *cursor++ == 0) break;
    }
    return status;
}

/* Reads a length of a list or range, and moves *text past it. */
static bool take_length(const char **text, int32_t *length) {
    char *end;
    long value = strtol(*text, &end, 10);
    if (end == *text || value < 1 || value > LH_LONGEST_LENGTH) return false;
    *text = end;
    *length = (int32_t)value;
    return true;
}

static bool take_range(const char *text, lh_option_lengths *out) {
    int32_t first, last, step = 1;
    if (!take_length(&text, &first) || *text++ != ':' || !take_length(&text, &last)) return false;
    if (*text == ':') {
        text++;
        if (!take_length(&text, &step)) return false;
    }
    out->lengths = (lh_lengths){.first = first, .last = last, .step = step};
    return *text == 0 && last >= first;
}

static bool take_list(const char *text, lh_option_lengths *out) {
    int count = 0;
    while (count < LH_OPTION_MAX_LENGTHS && take_length(&text, &out->list[count])) {
        count++;
        if (*text == 0) {
            out->lengths = (lh_lengths){.list = out->list, .count = count};
            return true;
        }
        if (*text++ != ',') return false;
    }
    return false;
}

static lh_status parse_lengths(const lh_option *option, const char *text, lh_error *error) {
    bool is_valid = strchr(text, ':') != NULL ? take_range(text, option->value) : take_list(text, option->value);
    if (!is_valid)
        return lh_fail(error, LH_ERR_USAGE,
                       "%s: '%.80s' is not a set of lengths\n"
                       "  expected: A:B, A:B:STEP or a list such as 41,50,60 of at most %d; from 1 to %d",
                       option->name, text, LH_OPTION_MAX_LENGTHS, LH_LONGEST_LENGTH);
    return LH_OK;
}

static lh_status take_text(const lh_option *option, const char *text, lh_error *error) {
    if (*text == 0)
        return lh_fail(error, LH_ERR_USAGE, "%s: the value is empty\n  expected: %s", option->name, option->word);
    if (option->kind == LH_OPTION_TEXT) {
        *(const char **)option->value = text;
        return LH_OK;
    }
    lh_option_texts *texts = option->value;
    if (texts->count == LH_OPTION_MAX_TEXTS)
        return lh_fail(error, LH_ERR_USAGE, "%s: is given too often\n  expected: at most %d times", option->name,
                       LH_OPTION_MAX_TEXTS);
    texts->list[texts->count++] = text;
    return LH_OK;
}

static lh_status parse_value(const lh_option *option, const char *text, lh_error *error) {
    switch (option->kind) {
    case LH_OPTION_TEXT:
    case LH_OPTION_TEXTS: return take_text(option, text, error);
    case LH_OPTION_LENGTHS: return parse_lengths(option, text, error);
    case LH_OPTION_RANGE: return parse_range(option, text, error);
    case LH_OPTION_NUMBERS: return parse_numbers(option, text, error);
    case LH_OPTION_INTEGER: return parse_integer(option, text, error);
    case LH_OPTION_COUNT: return parse_count(option, text, error);
    default: return parse_number(option, text, error);
    }
}

lh_status lh_options_parse(const lh_verb *verb, const lh_option *options, int count, int argc, char **argv,
                           bool *wants_help, lh_error *error) {
    *wants_help = false;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i], *equals = strchr(word, '=');
        size_t bytes = equals != NULL ? (size_t)(equals - word) : strlen(word);
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            *wants_help = true;
            return LH_OK;
        }
        const lh_option *option = find_option(options, count, word, bytes);
        if (option == NULL) return fail_flag(verb, options, count, word, bytes, error);
        if (option->is_given != NULL) *option->is_given = true;
        if (option->kind == LH_OPTION_SWITCH) {
            if (equals != NULL) return lh_fail(error, LH_ERR_USAGE, "%s: takes no value", option->name);
            *(bool *)option->value = true;
            continue;
        }
        if (equals == NULL && i + 1 == argc)
            return lh_fail(error, LH_ERR_USAGE, "%s: the value is missing\n  expected: %s %s", option->name,
                           option->name, option->word);
        lh_status status = parse_value(option, equals != NULL ? equals + 1 : argv[++i], error);
        if (status != LH_OK) return status;
    }
    return LH_OK;
}

void lh_options_print_rows(FILE *out, const lh_option *options, int count) {
    for (int i = 0; i < count; i++) {
        char head[64];
        snprintf(head, sizeof head, "%s %s", options[i].name, options[i].word != NULL ? options[i].word : "");
        fprintf(out, "  %-24s %s\n", head, options[i].help);
    }
}

void lh_options_print_help(FILE *out, const char *program, const lh_verb *verb, const lh_option *options, int count) {
    fprintf(out, "usage: %s %s [flags]\n\n%s\n\n", program, verb->name, verb->summary);
    lh_options_print_rows(out, options, count);
    if (verb->notes != NULL) fprintf(out, "\n%s\n", verb->notes);
}
