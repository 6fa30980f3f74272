/* Parses and checks the flags of a verb by a table, and prints --help. */
#ifndef LONGHAND_OPTIONS_H
#define LONGHAND_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "longhand/spec.h"
#include "longhand/status.h"

typedef enum lh_option_kind {
    LH_OPTION_SWITCH,  /* bool *; takes no value */
    LH_OPTION_INTEGER, /* int64_t *, within min..max */
    LH_OPTION_COUNT,   /* int64_t *, within min..max, or the word "all", which gives 0 */
    LH_OPTION_NUMBER,  /* double *, within min..max */
    LH_OPTION_TEXT,    /* const char ** */
    LH_OPTION_TEXTS,   /* lh_option_texts *: the flag may be repeated */
    LH_OPTION_LENGTHS, /* lh_option_lengths *: A:B, A:B:STEP, or 41,50,60 */
    LH_OPTION_RANGE,   /* lh_option_range *: A:B or A, within min..max */
    LH_OPTION_NUMBERS  /* lh_option_numbers *: X or X,Y,..., each once, within min..max */
} lh_option_kind;

enum { LH_OPTION_MAX_LENGTHS = 512, LH_OPTION_MAX_NUMBERS = 64, LH_OPTION_MAX_TEXTS = 64, LH_LONGEST_LENGTH = 1000000 };
#define LH_LARGEST_SEED 9007199254740992.0 /* 2^53: exact in a double */

typedef struct lh_option_lengths {
    lh_lengths lengths; /* points to `list` if the value was a list */
    int32_t list[LH_OPTION_MAX_LENGTHS];
} lh_option_lengths;

typedef struct lh_option_texts {
    int count;
    const char *list[LH_OPTION_MAX_TEXTS];
} lh_option_texts;

typedef struct lh_option_range {
    int64_t first, last; /* inclusive */
} lh_option_range;

typedef struct lh_option_numbers {
    int count;
    double list[LH_OPTION_MAX_NUMBERS];
} lh_option_numbers;

typedef struct lh_option {
    const char *name; /* "--steps" */
    lh_option_kind kind;
    void *value;      /* destination, unchanged if the flag is absent */
    double min, max;  /* range of numbers, inclusive */
    bool *is_given;   /* becomes true if the flag is present; NULL: not needed */
    const char *word; /* the name of the value in help and messages, such as "N"; NULL: no value */
    const char *help; /* one line of text */
} lh_option;

typedef struct lh_verb {
    const char *name;
    const char *summary;
    const char *notes; /* more help, or NULL */
} lh_verb;

/* Parses argv[0 .. argc - 1], the arguments after the verb. LH_ERR_USAGE: a wrong flag or value, which the message
 * names. *wants_help: whether --help or -h was found; later arguments are not parsed. */
lh_status lh_options_parse(const lh_verb *verb, const lh_option *options, int count, int argc, char **argv,
                           bool *wants_help, lh_error *error);

/* Prints the text of --help. */
void lh_options_print_help(FILE *out, const char *program, const lh_verb *verb, const lh_option *options, int count);

/* Prints the list of flags in the text of --help. */
void lh_options_print_rows(FILE *out, const lh_option *options, int count);

/* The name that is nearest to `word` by the number of edits (insert, remove, replace a character), or NULL if none is
 * near. A name that begins with `word` counts as one edit. names: address of the first `const char *` in an array of
 * records; stride: bytes from one record to the next. */
const char *lh_find_nearest_name(const char *word, const void *names, int count, size_t stride);

#endif
