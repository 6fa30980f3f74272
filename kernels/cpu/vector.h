/* Vectors of `real`, written with the compiler's vector extension: one source for every level and precision. Intrinsics
 * are used only where gcc 12 does not generate the instruction (`maximum`).
 *
 * Include after config.h, which defines `real` and REAL_BYTES.
 */
#ifndef LONGHAND_KERNELS_VECTOR_H
#define LONGHAND_KERNELS_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/level.h"

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#define UNROLL _Pragma("GCC unroll 16")

#if REAL_BYTES == 8
typedef int64_t real_bits;
typedef uint64_t real_unsigned_bits;
#else
typedef int32_t real_bits;
typedef uint32_t real_unsigned_bits;
#endif

enum {
    LANES = LH_VECTOR_BYTES / REAL_BYTES,
    SIDE_BY_SIDE = 4,                /* number of independent chains of operations, which hide latency */
    WIDEST_ROW = 1024,               /* maximum number of channels of a norm; model.lua limits model.width to it */
    ROW_VECTORS = WIDEST_ROW / LANES /* number of vectors of the widest row; unused ones cost nothing */
};

/* Vectors have the alignment of real and may alias real, because loads and stores use pointers to real. */
typedef real vector __attribute__((vector_size(LH_VECTOR_BYTES), aligned(REAL_BYTES), may_alias));
typedef real_bits bits __attribute__((vector_size(LH_VECTOR_BYTES), aligned(REAL_BYTES), may_alias));
/* Unsigned lanes, for sums that may wrap around. */
typedef real_unsigned_bits unsigned_bits __attribute__((vector_size(LH_VECTOR_BYTES), aligned(REAL_BYTES), may_alias));

INLINE vector load(const real *p) { return *(const vector *)p; }
INLINE void store(real *p, vector x) { *(vector *)p = x; }
INLINE void add_at(real *p, vector x) { store(p, load(p) + x); }
INLINE vector broadcast(real x) { return x - (vector){0}; }

/* Lanes of a where mask is -1, lanes of b where it is 0; gcc 12 has no vector ?: in C. keep_where: 0 instead of b. */
INLINE vector choose(bits mask, vector a, vector b) { return (vector)(((bits)a & mask) | ((bits)b & ~mask)); }
INLINE vector keep_where(bits mask, vector a) { return (vector)((bits)a & mask); }

/* a > b ? a : b; if one is NaN, the result is b, as the processor's instruction defines. gcc 12 would generate a
 * comparison and a selection, which have twice the latency. */
INLINE vector maximum(vector a, vector b) {
#if LH_VECTOR_BYTES == 64 && REAL_BYTES == 8
    return (vector)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif LH_VECTOR_BYTES == 64
    return (vector)_mm512_max_ps((__m512)a, (__m512)b);
#elif LH_VECTOR_BYTES == 32 && REAL_BYTES == 8
    return (vector)_mm256_max_pd((__m256d)a, (__m256d)b);
#elif LH_VECTOR_BYTES == 32
    return (vector)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__) && REAL_BYTES == 8
    return (vector)_mm_max_pd((__m128d)a, (__m128d)b);
#elif defined(__x86_64__)
    return (vector)_mm_max_ps((__m128)a, (__m128)b);
#else
    return choose(a > b, a, b);
#endif
}

INLINE real sqrt_real(real x) { return REAL_BYTES == 8 ? (real)__builtin_sqrt(x) : (real)__builtin_sqrtf((float)x); }

/* The correctly rounded square root, by the processor's instruction. */
INLINE vector sqrt_of(vector x) {
    UNROLL
    for (int k = 0; k < LANES; k++) x[k] = sqrt_real(x[k]);
    return x;
}

/* Mask with -1 in the lanes below `count`, else 0. */
INLINE bits lanes_before(int count) {
    bits lane;
    UNROLL
    for (int i = 0; i < LANES; i++) lane[i] = i;
    return lane < (real_bits)count;
}

/* Lane i of the result is lane source_lane[i] of the concatenation of a and b. source_lane must be a constant after
 * inlining. */
INLINE vector shuffle(vector a, vector b, bits source_lane) {
#if defined(__clang__)
    vector result;
    UNROLL
    for (int i = 0; i < LANES; i++) result[i] = source_lane[i] < LANES ? a[source_lane[i]] : b[source_lane[i] - LANES];
    return result;
#else
    return __builtin_shuffle(a, b, source_lane);
#endif
}

/* Exchanges each lane i with lane i ^ bit; bit is 1, 2, 4, ... */
INLINE vector exchange_lanes(vector x, int bit) {
    bits source_lane;
    UNROLL
    for (int i = 0; i < LANES; i++) source_lane[i] = i ^ bit;
    return shuffle(x, x, source_lane);
}

INLINE vector add_exchanged(vector x, int bit) { return x + exchange_lanes(x, bit); }

/* The sum of all lanes, in every lane. The loop is unrolled by hand, because gcc 12 would unroll it too late to see
 * that the shuffles are constant. */
INLINE vector broadcast_sum(vector x) {
    if (LANES > 8) x = add_exchanged(x, 8);
    if (LANES > 4) x = add_exchanged(x, 4);
    if (LANES > 2) x = add_exchanged(x, 2);
    return add_exchanged(x, 1);
}

INLINE real sum_lanes(vector x) { return broadcast_sum(x)[0]; }

/* x rounded up to a multiple of step. */
INLINE int round_up(int x, int step) { return (x + step - 1) / step * step; }

#endif
