/* Arrays of an operation's element type, and its launch in the emulation, for the tests of operations.cu. */
#ifndef LH_TESTS_OPERATION_ARRAYS_H
#define LH_TESTS_OPERATION_ARRAYS_H

#include "lh_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "emulation.h"
#include "kernels/ref/ref.h"
#include "longhand/cuda_interface.h"
#include "longhand/math.h"
#include "operations.h"

enum { WIDTH = LH_OPERATIONS_WIDTH, HEAD = LH_OPERATIONS_HEAD, THREADS = 256, PIECE = LH_CUDA_PIECE };

static inline double keep_all_bits(double x) { return x; }

/* Rounds to `bits` bits of fraction; nearest: round for ties away from zero, rint for ties to even. */
static inline double round_to_bits(double x, int bits, double (*nearest)(double)) {
    int exponent;
    double fraction = frexp(x, &exponent);
    return ldexp(nearest(ldexp(fraction, bits + 1)), exponent - bits - 1);
}
static inline double to_tf32(double x) { return round_to_bits(x, 10, round); }
static inline double to_bf16(double x) { return round_to_bits(x, 7, rint); }

typedef struct precision {
    const char *name;
    int real_bytes;
    double unit;               /* unit of rounding: a sum's error is at most n units of the sum of its n magnitudes */
    double (*operand)(double); /* rounding of a product's operand */
} precision;

static const precision PRECISIONS[] = {
    {"float64", 8, 0x1p-53, keep_all_bits},
    {"float32", 4, 0x1p-24, keep_all_bits},
    {"tf32", 4, 0x1p-24, to_tf32},
    {"bf16", 4, 0x1p-24, to_bf16},
    {"float64_warps", 8, 0x1p-53, keep_all_bits},
    {"float32_warps", 4, 0x1p-24, keep_all_bits},
    {"tf32_warps", 4, 0x1p-24, to_tf32},
    {"bf16_warps", 4, 0x1p-24, to_bf16},
};
/* The first EXACT_PRECISIONS do not round operands of products. IN_QUADS is the index of the precision whose norms have
 * rows in quads of lanes. */
enum { PRECISION_COUNT = sizeof PRECISIONS / sizeof *PRECISIONS, EXACT_PRECISIONS = 2, IN_QUADS = 4 };

static inline void *reserve(size_t bytes) {
    size_t padded_bytes = (bytes + 127) / 64 * 64;
    void *memory = aligned_alloc(64, padded_bytes);
    assert_non_null(memory);
    return memset(memory, 0xff, padded_bytes); /* NaN */
}

static inline double *reserve_doubles(int count) { return reserve((size_t)count * sizeof(double)); }

static inline void set_real(const precision *p, void *array, int i, double value) {
    if (p->real_bytes == 8) ((double *)array)[i] = value;
    else ((float *)array)[i] = (float)value;
}

/* Returns x [count] in the precision's element type; for free(). */
static inline void *to_reals(const precision *p, int count, const double *x) {
    void *out = reserve((size_t)(count * p->real_bytes));
    for (int i = 0; i < count; i++) set_real(p, out, i, x[i]);
    return out;
}

/* Returns random numbers from -1 to 1 that are exact in float; for free(). */
static inline double *make_numbers(int count, uint64_t seed) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(seed), 0, 0, 0);
    double *out = reserve_doubles(count);
    for (int i = 0; i < count; i++) out[i] = (float)(lh_rng_word(&rng) / 2147483648.0 - 1);
    return out;
}

static inline void assert_close(const precision *p, const void *actual, const double *expected, int count,
                                double tolerance) {
    double *copy = reserve_doubles(count);
    for (int i = 0; i < count; i++) copy[i] = lh_real_read(actual, p->real_bytes, i);
    lh_assert_close(copy, expected, count, 0, tolerance);
    free(copy);
}

static inline void free_all(void *const *arrays, int count) {
    for (int i = 0; i < count; i++) free(arrays[i]);
}
#define FREE(...) free_all((void *const[]){__VA_ARGS__}, (int)(sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *)))

/* Launches an operation with arguments as for cuLaunchKernel; launches take turns with four orders of threads. */
static inline void launch(const precision *p, const char *operation, int blocks, void **arguments) {
    static unsigned order;
    char kernel[32];
    lh_error error = {""};
    lh_emulation emulation = {.order = order++ % 4, .multiprocessors = blocks};
    snprintf(kernel, sizeof kernel, "%s_%s", operation, p->name);
    lh_emulation_set(&emulation);
    lh_assert_ok(
        lh_emulation_launch(kernel, blocks, THREADS, (size_t)(LH_OPERATIONS_SHARED * p->real_bytes), arguments, &error),
        &error);
}

#endif
