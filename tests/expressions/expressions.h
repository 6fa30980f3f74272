/* Score formulas as C: what the generated parts share. Each has an enum of LAYERS, HEADS and TOKENS. */
#ifndef LONGHAND_TESTS_EXPRESSIONS_H
#define LONGHAND_TESTS_EXPRESSIONS_H

#define REAL_BYTES 8
typedef double real;

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpu/score.h"
#include "longhand/cpu.h"

typedef struct expression_case {
    /* Compares the formula with what plain Lua gave; false and a message where it differs. */
    bool (*run)(char *message, size_t size);
    const char *text;
} expression_case;

extern const expression_case expression_part_0[], expression_part_1[], expression_part_2[], expression_part_3[];

static inline void *take(char *memory, size_t *used, size_t bytes) {
    size_t start = *used;
    *used += (bytes + 63) / 64 * 64;
    return memory ? memory + start : NULL;
}

static inline void *zeros(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!memory) abort();
    memset(memory, 0, (bytes + 64) / 64 * 64);
    return memory;
}

/* The first count elements, and the last of them again. */
static inline vector load_some(const real *from, int count) {
    vector x = {0};
    for (int k = 0; k < LANES; k++) x[k] = from[k < count ? k : count - 1];
    return x;
}

static inline void store_some(real *to, int count, vector x) {
    for (int k = 0; k < LANES && k < count; k++) to[k] = x[k];
}

static inline bool all_close(const real *got, const real *want, int count, double allowed, const char *what,
                             char *message, size_t size) {
    for (int k = 0; k < count; k++) {
        if (fabs(got[k] - want[k]) <= allowed * (1 + fabs(want[k]))) continue;
        snprintf(message, size, "%s: element %d is %.12g, not %.12g", what, k, got[k], want[k]);
        return false;
    }
    return true;
}

#endif
