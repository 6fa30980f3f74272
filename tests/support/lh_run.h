/* Runs a trainer's command line inside a test. */
#ifndef LH_RUN_H
#define LH_RUN_H

#include "longhand/spec.h"

typedef struct lh_run_result {
    int code;  /* result of lh_main */
    char *out; /* stdout and stderr; valid until the next lh_run_main */
    char *err;
} lh_run_result;

/* Runs lh_main(spec, "trainer" and the words of command, separated by blanks); input: stdin, or NULL: empty.
 * directory: an existing folder for the captured streams, and the working directory during the run. */
lh_run_result lh_run_main(const lh_spec *spec, const char *directory, const char *command, const char *input);

/* Calls lh_run_main, and fails unless `code` is the result. */
lh_run_result lh_run_expect(const lh_spec *spec, const char *directory, int code, const char *command,
                            const char *input);

/* Asserts that two files below directory have the same bytes. */
void lh_assert_same_file(const char *directory, const char *a, const char *b);

/* Asserts that two files of JSON lines below directory agree in every key except steps_per_second and seconds. */
void lh_assert_same_lines(const char *directory, const char *a, const char *b);

/* Asserts that the runs in the folders directory/a/run and directory/b/run have equal checkpoints, metrics and
 * evaluations. */
void lh_assert_same_run(const char *directory, const char *a, const char *b, const char *run);

#endif
