/* Comparison of the files of two runs, for tests of a trainer's commands. */
#ifndef LH_TESTS_SAME_RUNS_H
#define LH_TESTS_SAME_RUNS_H

#include <stdio.h>

#include "support/lh_run.h"

/* Asserts that a run, a folder below the folders a and b of directory, has equal checkpoints, metrics and evaluations
 * in both. */
static inline void lh_assert_same_run(const char *directory, const char *a, const char *b, const char *run) {
    static const char *const files[] = {"checkpoint.safetensors", "metrics.jsonl", "eval.jsonl"};
    for (int i = 0; i < 3; i++) {
        char one[256], two[256];
        snprintf(one, sizeof one, "%s/%s/%s", a, run, files[i]);
        snprintf(two, sizeof two, "%s/%s/%s", b, run, files[i]);
        if (i == 0) lh_assert_same_file(directory, one, two);
        else lh_assert_same_lines(directory, one, two);
    }
}

#endif
