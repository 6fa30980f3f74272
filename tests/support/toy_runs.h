/* Runs of the toy model in the temporary folder of a test, from a trainer's command line. */
#ifndef LH_TESTS_TOY_RUNS_H
#define LH_TESTS_TOY_RUNS_H

#include "lh_run.h"

/* The folder of a run of the toy with its default flags, below --out. */
#define FOLDER "toy/0123456789abcdef/lr0.01-seed0"

/* The spec that run_toy trains. Each test begins with a new toy, which it may change. */
extern lh_spec toy;
int make_toy(void **state);
#define RUN_TEST(function) cmocka_unit_test_setup_teardown(function, make_toy, lh_test_remove_directory)

/* Runs the command in the folder *state; fails unless `code` is its exit status. */
lh_run_result run_toy(void **state, int code, const char *command);

/* The text of a file below the folder *state, which the caller frees. */
char *read_text(void **state, const char *name);
int count_lines(const char *text);

#endif
