/* Vectors of `real` in the compiler's own extension: no intrinsics, one source for every level and precision.
 *
 * Include after config.h, which defines `real` and REAL_BYTES.
 */
#ifndef LONGHAND_KERNELS_VECTOR_H
#define LONGHAND_KERNELS_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/level.h"

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#define UNROLL _Pragma("GCC unroll 16")

#if REAL_BYTES == 8
typedef int64_t real_bits;
#else
typedef int32_t real_bits;
#endif

enum {
    LANES = LH_VECTOR_BYTES / REAL_BYTES,
    WIDEST_ROW = 1024,               /* features of a token, at most; schema.lua enforces it */
    ROW_VECTORS = WIDEST_ROW / LANES /* room for one row; only the vectors that are used cost anything */
};

/* Unaligned, may alias: loads and stores go through pointers to real. */
typedef real vector __attribute__((vector_size(LH_VECTOR_BYTES), aligned(REAL_BYTES), may_alias));
typedef real_bits bits __attribute__((vector_size(LH_VECTOR_BYTES), aligned(REAL_BYTES), may_alias));

INLINE vector load(const real *p) { return *(const vector *)p; }
INLINE void store(real *p, vector x) { *(vector *)p = x; }
INLINE void add_at(real *p, vector x) { store(p, load(p) + x); }
INLINE vector broadcast(real x) { return x - (vector){0}; }

/* mask lanes are 0 or -1, as comparisons give them; C has no vector ?: in gcc 12. */
INLINE vector choose(bits mask, vector a, vector b) { return (vector)(((bits)a & mask) | ((bits)b & ~mask)); }
INLINE vector keep_where(bits mask, vector a) { return (vector)((bits)a & mask); }
INLINE vector maximum(vector a, vector b) { return choose(a > b, a, b); }

/* -1 in the lanes before `count`. */
INLINE bits lanes_before(int count) {
    bits lane;
    UNROLL
    for (int i = 0; i < LANES; i++) lane[i] = i;
    return lane < (real_bits)count;
}

/* Lane i of the result is lane from[i] of a and b side by side; from is a constant once inlined. */
INLINE vector shuffle(vector a, vector b, bits from) {
#if defined(__clang__)
    vector result;
    UNROLL
    for (int i = 0; i < LANES; i++) result[i] = from[i] < LANES ? a[from[i]] : b[from[i] - LANES];
    return result;
#else
    return __builtin_shuffle(a, b, from);
#endif
}

/* The sum of all lanes, in every lane: each step adds the lane whose number differs in one bit. */
INLINE vector sum_everywhere(vector x) {
    UNROLL
    for (int bit = LANES / 2; bit > 0; bit /= 2) {
        bits partner;
        UNROLL
        for (int i = 0; i < LANES; i++) partner[i] = i ^ bit;
        x += shuffle(x, x, partner);
    }
    return x;
}

INLINE real sum_lanes(vector x) { return sum_everywhere(x)[0]; }

/* x rounded up to a multiple of step. */
INLINE int round_up(int x, int step) { return (x + step - 1) / step * step; }

#endif
