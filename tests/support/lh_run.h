/* Runs a trainer's command line inside a test. */
#ifndef LH_RUN_H
#define LH_RUN_H

#include "longhand/spec.h"

typedef struct lh_run_result {
    int code;  /* what lh_main returned */
    char *out; /* stdout and stderr, until the next lh_run_main */
    char *err;
} lh_run_result;

/* lh_main(spec, "trainer" and the words of command, which blanks separate); input: stdin, or NULL for nothing.
 * directory: an existing folder for the captured streams, and the working directory while it runs. */
lh_run_result lh_run_main(const lh_spec *spec, const char *directory, const char *command, const char *input);

/* Two files below directory hold the same bytes. */
void lh_assert_same_file(const char *directory, const char *a, const char *b);

/* Two files of JSON lines below directory agree in every key but steps_per_second and seconds. */
void lh_assert_same_lines(const char *directory, const char *a, const char *b);

#endif
