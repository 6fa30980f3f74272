/* Shared functions of the tests of kernels/cpu. These tests are compiled like generated code, for some levels and
 * element types: -march=... and -DREAL_BYTES=4 or 8. Arrays have exactly the size that a kernel requires, and elements
 * that it must not read are NaN, so that the sanitizers and the comparisons detect every wrong access.
 */
#ifndef LH_TESTS_KERNELS_H
#define LH_TESTS_KERNELS_H

#include "support/lh_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef REAL_BYTES
#define REAL_BYTES 4
#endif
#if REAL_BYTES == 8
typedef double real;
#else
typedef float real;
#endif

#include "kernels/cpu/vector.h"
#include "longhand/rng.h"

/* Replaces tuned.h. Any sizes of tiles are valid; most of the tested arrays are not whole numbers of tiles. */
enum { TILE_ROWS = 5, TILE_COLUMNS = 3, OUTER_ROWS = 4, OUTER_COLUMNS = 3, PREFETCH_GRADIENTS = 1 };

/* Errors are relative to the largest element of the expected array. One rounding is half an ulp; a sum of n terms is
 * rounded n times, with a few further roundings. */
static const double ROUNDING = REAL_BYTES == 8 ? 0x1p-53 : 0x1p-24;
enum { FURTHER_ROUNDINGS = 16 };

/* Returns the tolerance for a sum of this number of terms. */
INLINE double sum_tolerance(int terms) { return (terms + FURTHER_ROUNDINGS) * ROUNDING; }

/* ---- arrays ---- */

/* Allocates elements without values. */
INLINE real *make_reals(int count) {
    real *x = malloc((size_t)count * sizeof *x);
    assert_non_null(x);
    return x;
}

/* Makes `count` elements: `valid` random numbers in [-1, 1), then NaN. */
INLINE real *make_random_reals(uint64_t seed, int valid, int count) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(seed), 0, 0, 0);
    real *x = make_reals(count);
    for (int i = 0; i < count; i++) x[i] = i < valid ? (real)(lh_rng_word(&rng) / 2147483648.0 - 1) : (real)NAN;
    return x;
}

INLINE double *to_doubles(const real *x, int count) {
    double *out = malloc((size_t)(count + 1) * sizeof *out); /* + 1, since malloc(0) may return NULL */
    assert_non_null(out);
    for (int i = 0; i < count; i++) out[i] = x[i];
    return out;
}

INLINE void check_close(const real *actual, const double *expected, int count, double tolerance) {
    double *copy = to_doubles(actual, count), largest_value = 0;
    for (int i = 0; i < count; i++) largest_value = fmax(largest_value, fabs(expected[i]));
    lh_assert_close(copy, expected, (size_t)count, 0, tolerance * largest_value);
    free(copy);
}

/* Frees any number of pointers: free_all(a, b, c). */
#define free_all(...) free_pointers((void *[]){__VA_ARGS__, NULL})
INLINE void free_pointers(void **pointers) {
    for (; *pointers; pointers++) free(*pointers);
}

#endif
