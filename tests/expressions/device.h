/* Score formulas as device code on the host: declarations that the generated parts share. Include it after an enum
 * of LAYERS, HEADS, TOKENS and MAX_POSITION. */
#ifndef LONGHAND_TESTS_EXPRESSIONS_DEVICE_H
#define LONGHAND_TESTS_EXPRESSIONS_DEVICE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_emulation.h"
#include "emulation.h"

#define INLINE static inline /* the parts differ in sizes */
#define REAL_BYTES 8
typedef double real;
enum { THREADS = 64 };

#include "kernels/cuda/functions_float64.cu"

#include "kernels/cuda/functions.cu"

#include "kernels/cuda/block.cu"

#include "kernels/cuda/score.cu"

typedef global<real> reals;

#undef INLINE
#define INLINE inline /* formulas have namespaces of their own */

static inline void *reserve(char *memory, size_t *used_bytes, size_t bytes) {
    size_t start = *used_bytes;
    *used_bytes += (bytes + 63) / 64 * 64;
    return memory ? memory + start : NULL;
}

/* Arguments that an evaluation passes to its kernel. Arrays [LAYERS][HEADS][keys][queries]; draws[LAYERS][TOKENS]. */
template <class P> struct evaluation {
    const P *p;
    const int *draws;
    const real *logits, *weights;
    real *scores, *slopes;
    P *g;
    char *memory;
};

enum { PAIRS_OF_ALL = LAYERS * HEADS * TOKENS * TOKENS };

/* Runs a kernel in the given order of threads, with memory full of NaN; false, and a message on stderr, after a
 * failure. */
template <class P> static inline bool run_in_order(const char *kernel, evaluation<P> e, size_t bytes, unsigned order) {
    lh_emulation emulation = {};
    emulation.order = order;
    lh_emulation_set(&emulation);
    e.memory = (char *)aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!e.memory) abort();
    memset(e.memory, 0xff, bytes);
    lh_error error = {};
    void *arguments[] = {&e};
    lh_status status = lh_emulation_launch(kernel, 1, THREADS, THREADS * sizeof(real), arguments, &error);
    if (status != LH_OK) fprintf(stderr, "%s\n", error.text);
    free(e.memory);
    return status == LH_OK;
}

/* Computes scores, slopes and gradients (added to g); scores are NaN if the kernel fails or orders of threads
 * disagree. */
template <class P>
static inline void run_in_all_orders(const char *kernel, const evaluation<P> &e, size_t bytes, unsigned orders) {
    const P old_gradient = *e.g;
    real *scores = (real *)malloc(2 * PAIRS_OF_ALL * sizeof(real)), *slopes = scores + PAIRS_OF_ALL;
    P first;
    bool computes_scores = scores != NULL;
    for (unsigned order = 0; computes_scores && order < orders; order++) {
        *e.g = old_gradient;
        computes_scores = run_in_order(kernel, e, bytes, order);
        if (order == 0) {
            memcpy(scores, e.scores, PAIRS_OF_ALL * sizeof(real));
            memcpy(slopes, e.slopes, PAIRS_OF_ALL * sizeof(real));
            first = *e.g;
        }
        computes_scores = computes_scores && memcmp(scores, e.scores, PAIRS_OF_ALL * sizeof(real)) == 0 &&
                          memcmp(slopes, e.slopes, PAIRS_OF_ALL * sizeof(real)) == 0 &&
                          memcmp(&first, e.g, sizeof first) == 0;
    }
    if (!computes_scores) memset(e.scores, 0xff, PAIRS_OF_ALL * sizeof(real));
    free(scores);
}

#endif
