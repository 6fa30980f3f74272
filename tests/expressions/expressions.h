/* Score formulas as C: declarations that the generated parts share. Each part has an enum of LAYERS, HEADS and
 * TOKENS. */
#ifndef LONGHAND_TESTS_EXPRESSIONS_H
#define LONGHAND_TESTS_EXPRESSIONS_H

#define REAL_BYTES 8
typedef double real;

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "expressions/cases.h"
#include "kernels/cpu/score.h"
#include "longhand/cpu.h"

static inline void *reserve(char *memory, size_t *used_bytes, size_t bytes) {
    size_t start = *used_bytes;
    *used_bytes += (bytes + 63) / 64 * 64;
    return memory ? memory + start : NULL;
}

static inline void *reserve_zeros(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!memory) abort();
    memset(memory, 0, (bytes + 64) / 64 * 64);
    return memory;
}

/* Loads the first count elements, and repeats the last of them. */
static inline vector load_some(const real *from, int count) {
    vector x = {0};
    for (int k = 0; k < LANES; k++) x[k] = from[k < count ? k : count - 1];
    return x;
}

static inline void store_some(real *to, int count, vector x) {
    for (int k = 0; k < LANES && k < count; k++) to[k] = x[k];
}

#endif
