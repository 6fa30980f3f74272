/* A formula with its expected results, for tests/unit/test_expressions.c; C11 and C++. */
#ifndef LONGHAND_TESTS_CASES_H
#define LONGHAND_TESTS_CASES_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct expression_case {
    /* Compares the formula with the results of plain Lua; false and a message if they differ. */
    bool (*run)(char *message, size_t size);
    const char *text;
} expression_case;

extern const expression_case expression_part_0[], expression_part_1[], expression_part_2[], expression_part_3[];

static inline bool are_all_close(const double *actual, const double *expected, int count, double tolerance,
                                 const char *name, char *message, size_t size) {
    for (int k = 0; k < count; k++) {
        if (fabs(actual[k] - expected[k]) <= tolerance * (1 + fabs(expected[k]))) continue;
        snprintf(message, size, "%s: element %d is %.12g, not %.12g", name, k, actual[k], expected[k]);
        return false;
    }
    return true;
}

#endif
