/* Chances (probabilities) of pairs of a query and a key, for N vectors of pairs at once:
 *
 *   match   the key matches the query: the sigmoid of the pair's logit
 *   miss    1 - match
 *   reach   the query reaches the key: the product of the misses of all nearer keys
 */
#ifndef LONGHAND_KERNELS_CHANCES_H
#define LONGHAND_KERNELS_CHANCES_H

#include "kernels/cpu/columns.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/math.h"

/* Chances to reach a key below this number count as 0. So no product of chances is subnormal; subnormal arithmetic is
 * slow. (In float, results of compute_chances are at least 6e-26 in magnitude.) */
static const real LEAST_CHANCE = REAL_BYTES == 8 ? (real)1e-150 : (real)1e-12;

/* ---- one pair ---- */

/* tail = exp(-|x|) for N vectors; NaN stays NaN. In float:
 *   -|x| is limited to -58.
 *   exp(-|x|) = 2^r 2^f, with an integer r and |f| <= 1/2. The polynomial equals 2^f within 1e-8.
 *   The rounding of log2_e acts like a relative error of 1.4e-8 in x.
 *   Without fused multiply-adds, x log2_e is also rounded, by up to half an ulp.
 *   `round` contains the bias of the exponent. So the low bits of `shifted`, moved to the exponent, are the number 2^r.
 */
INLINE void compute_tails(const int N, const vector *x, vector *tail) {
    const bits sign = (bits)broadcast(-(real)0);
#if REAL_BYTES == 8
    UNROLL
    for (int u = 0; u < N; u++) tail[u] = exp_negative((vector)((bits)x[u] | sign));
#else
    const real coefficient[] = {
        0x1.44138ap-13f, 0x1.5f089p-10f, 0x1.3b2a54p-7f, 0x1.c6af6cp-5f, 0x1.ebfbep-3f, 0x1.62e43p-1f, 1};
    const real lowest = -58, round = 0x1.8p23f + 127, log2_e = 0x1.715476p0f;
    vector shifted[SIDE_BY_SIDE], f[SIDE_BY_SIDE];
    UNROLL
    for (int u = 0; u < N; u++) {
        vector size = maximum(broadcast(lowest), (vector)((bits)x[u] | sign)); /* -|x|, limited */
        shifted[u] = size * log2_e + round;
        f[u] = size * log2_e - (shifted[u] - round);
        tail[u] = broadcast(coefficient[0]);
    }
    UNROLL
    for (int i = 1; i < 7; i++) {
        UNROLL
        for (int u = 0; u < N; u++) tail[u] = tail[u] * f[u] + coefficient[i];
    }
    UNROLL
    for (int u = 0; u < N; u++) tail[u] *= (vector)((unsigned_bits)shifted[u] << 23);
#endif
}

/* 1 / (1 + x) for 0 <= x <= 1, within 1 ulp. For the widest vectors, multiply-adds are faster than a division. The
 * quadratic polynomial has a relative error of at most 1/99. The factor 1 + rest + rest^2 + rest^3 corrects it. */
INLINE vector inverse_of_one_plus(vector x) {
#if REAL_BYTES == 4 && LH_VECTOR_BYTES == 64
    vector y = (x * (real)(32 / 99.0) - (real)(80 / 99.0)) * x + (real)(98 / 99.0);
    vector rest = (1 - y) - x * y;
    y += y * rest;
    return y + y * (rest * rest);
#else
    return 1 / (1 + x);
#endif
}

/* Lanes of `negative` where the lane of `sign` has its sign bit set, else lanes of `positive`. For the widest vectors
 * an intrinsic is needed, because gcc 12 does not generate the instruction. */
INLINE vector choose_by_sign(vector sign, vector negative, vector positive) {
#if LH_VECTOR_BYTES == 64 && REAL_BYTES == 8
    return (vector)_mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)sign), (__m512d)positive, (__m512d)negative);
#elif LH_VECTOR_BYTES == 64
    return (vector)_mm512_mask_blend_ps(_mm512_movepi32_mask((__m512i)sign), (__m512)positive, (__m512)negative);
#else
    return choose((bits)sign >> (8 * REAL_BYTES - 1), negative, positive);
#endif
}

/* Computes for N vectors of logits x:
 *   match        sigmoid(x)
 *   miss         1 - match, with the same relative precision as match
 *   grad_factor  the smaller of match and miss, with the sign of x */
INLINE void compute_chances(const int N, const vector *x, vector *match, vector *miss, vector *grad_factor) {
    vector tail[SIDE_BY_SIDE];
    compute_tails(N, x, tail);
    UNROLL
    for (int u = 0; u < N; u++) {
        vector greater = inverse_of_one_plus(tail[u]), lesser = tail[u] * greater;
        match[u] = choose_by_sign(x[u], lesser, greater);
        miss[u] = choose_by_sign(x[u], greater, lesser);
        grad_factor[u] = with_sign_of(lesser, x[u]);
    }
}

/* ---- the chance that a query reaches a key ---- */

/* Returns the chance that a query passes a key: it reaches the key and the key does not match. The result is at least
 * LEAST_CHANCE / 2, which counts as 0. chance: the chance that the query reaches the key. */
INLINE vector pass_key(vector chance, vector miss) { return maximum(broadcast(LEAST_CHANCE / 2), chance * miss); }

#endif
