/* exp for vectors, independent of libm, so results have the same bits on every machine.
 *
 * exp(x) = 2^r exp(f), r = round(x / ln 2), |f| <= ln 2 / 2. r ln 2 is subtracted in two parts, so that f is exact.
 * exp(f) is a polynomial; float: degree 7, relative error below 2e-7 (one and a half ulp); double: degree 12, below
 * 3e-16. Source of the float coefficients: a minimax fit of (exp(f) - 1 - f) / f^2; the double coefficients are
 * Taylor's, whose remainder at |f| = 0.347 is 2e-16. Adding the constant `round` to x / ln 2 leaves r in the low bits
 * of the sum. These bits, shifted to the exponent and added as an integer to the bits of exp(f), multiply exp(f) by 2^r
 * exactly, because the result is a normal number. Multiplications limit the speed of attention; this addition of
 * integers replaces a multiplication. Lanes that underflow have arbitrary values until they are set to 0. For a NaN the
 * addition would give a number; maximum(number, x) then returns x, the NaN.
 */
#ifndef LONGHAND_KERNELS_MATH_H
#define LONGHAND_KERNELS_MATH_H

#include "kernels/cpu/vector.h"
#include "longhand/timings.h"

/* exp of x <= 0; returns 0 below -87 (double: -708), where results are almost subnormal, because subnormal arithmetic
 * is slow. */
INLINE vector exp_negative(vector x) {
#if REAL_BYTES == 8
    const real lowest = -708.0, round = 0x1.8p52, ln2_high = 0x1.62e42fefa0000p-1, ln2_low = 0x1.cf79abc9e3b39p-40;
    const real log2_e = 0x1.71547652b82fep0;
    const real coefficient[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                                1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5};
    enum { TERMS = 11, EXPONENT_SHIFT = 52 };
#else
    const real lowest = -87.0f, round = 0x1.8p23f, ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
    const real log2_e = 0x1.715476p0f;
    const real coefficient[] = {0x1.a0d6cep-13f, 0x1.6e879cp-10f, 0x1.11111cp-7f,
                                0x1.55542cp-5f,  0x1.555556p-3f,  0x1.fffffep-2f};
    enum { TERMS = 6, EXPONENT_SHIFT = 23 };
#endif
    vector shifted = x * log2_e + round, r = shifted - round, f = x - r * ln2_high - r * ln2_low;
    vector p = broadcast(coefficient[0]);
    UNROLL
    for (int i = 1; i < TERMS; i++) p = p * f + coefficient[i];
    p = p * f * f + f + 1;
    vector scaled = (vector)((unsigned_bits)p + ((unsigned_bits)shifted << EXPONENT_SHIFT));
    bits underflows = x < lowest; /* false for NaN, which stays NaN */
    return maximum(keep_where(~underflows, scaled), x);
}

/* exp of N vectors x <= 0 for the weights of a softmax, which are later divided by their sum. Computes 2^y by a
 * polynomial of degree 5 (a minimax fit; double: Taylor's, degree 12), where y is x log2_e; no second constant corrects
 * the rounding of log2_e. The relative error is below (2.2 - 0.65 x) ulp, about the effect of rounding x; small results
 * are 0 as in exp_negative. A NaN stays NaN if the low bits that are shifted to the exponent are 0, as in every NaN
 * that arithmetic produces. The operations on the N vectors are interleaved, because those on one vector depend on each
 * other. */
INLINE void exp_for_softmax(const int N, vector *x) {
#if REAL_BYTES == 8
    const real lowest = -708.0, round = 0x1.8p52, log2_e = 0x1.71547652b82fep0;
    const real coefficient[] = {0x1.c3bd650fc2986p-36, 0x1.e8cac7351bb25p-32, 0x1.e4cf5158b8ecap-28,
                                0x1.b5253d395e7c4p-24, 0x1.62c0223a5c824p-20, 0x1.ffcbfc588b0c7p-17,
                                0x1.430912f86c787p-13, 0x1.5d87fe78a6731p-10, 0x1.3b2ab6fba4e77p-7,
                                0x1.c6b08d704a0c0p-5,  0x1.ebfbdff82c58fp-3,  0x1.62e42fefa39efp-1};
    enum { TERMS = 12, EXPONENT_SHIFT = 52 };
#else
    const real lowest = -87.0f, round = 0x1.8p23f, log2_e = 0x1.715476p0f;
    const real coefficient[] = {0x1.5bba14p-10f, 0x1.3cea88p-7f, 0x1.c6b752p-5f, 0x1.ebf9bcp-3f, 0x1.62e42ap-1f};
    enum { TERMS = 5, EXPONENT_SHIFT = 23 };
#endif
    vector shifted[SIDE_BY_SIDE], f[SIDE_BY_SIDE], p[SIDE_BY_SIDE];
    UNROLL
    for (int u = 0; u < N; u++) {
        shifted[u] = x[u] * log2_e + round;
        f[u] = x[u] * log2_e - (shifted[u] - round);
        p[u] = broadcast(coefficient[0]);
    }
    UNROLL
    for (int i = 1; i < TERMS; i++) {
        UNROLL
        for (int u = 0; u < N; u++) p[u] = p[u] * f[u] + coefficient[i];
    }
    UNROLL
    for (int u = 0; u < N; u++) {
        p[u] = p[u] * f[u] + 1;
        vector scaled = (vector)((unsigned_bits)p[u] + ((unsigned_bits)shifted[u] << EXPONENT_SHIFT));
        bits underflows = x[u] < lowest;
        x[u] = keep_where(~underflows, scaled);
    }
}

/* Replaces the scores in weights [count][LANES] by exp(score - largest), where `largest` is the largest score of the
 * lane; returns the sum of each lane, added in the order of rows. */
INLINE vector exp_weights(int count, vector largest, real *weights) {
    LH_TIMED_FINELY(LH_PART_EXPONENTIALS);
    vector sum = {0};
    int j = 0;
    for (; j + SIDE_BY_SIDE <= count; j += SIDE_BY_SIDE) {
        vector x[SIDE_BY_SIDE];
        UNROLL
        for (int u = 0; u < SIDE_BY_SIDE; u++) x[u] = load(weights + (j + u) * LANES) - largest;
        exp_for_softmax(SIDE_BY_SIDE, x);
        UNROLL
        for (int u = 0; u < SIDE_BY_SIDE; u++) {
            store(weights + (j + u) * LANES, x[u]);
            sum += x[u];
        }
    }
    for (; j < count; j++) {
        vector weight = load(weights + j * LANES) - largest;
        exp_for_softmax(1, &weight);
        store(weights + j * LANES, weight);
        sum += weight;
    }
    return choose(largest == largest, sum, largest); /* NaN if any weight is NaN */
}

/* Replaces the logits in weights [count][H], of one query in H heads, by exp(logit - the largest logit of the head).
 * H: a power of two, at most LANES. Writes whole vectors, with zeros after the last weight. */
INLINE void exp_heads(const int H, int count, real *weights) {
    LH_TIMED_FINELY(LH_PART_EXPONENTIALS);
    const int whole = round_up(count * H, LANES);
    vector largest = broadcast(-(real)__builtin_inf());
    for (int i = count * H; i < whole; i++) weights[i] = largest[0];
    for (int i = 0; i < whole; i += LANES) largest = maximum(largest, load(weights + i));
    if (LANES > 8 && H <= 8) largest = maximum(largest, exchange_lanes(largest, 8));
    if (LANES > 4 && H <= 4) largest = maximum(largest, exchange_lanes(largest, 4));
    if (LANES > 2 && H <= 2) largest = maximum(largest, exchange_lanes(largest, 2));
    if (H == 1) largest = maximum(largest, exchange_lanes(largest, 1));
    int i = 0;
    for (; i + SIDE_BY_SIDE * LANES <= whole; i += SIDE_BY_SIDE * LANES) {
        vector x[SIDE_BY_SIDE];
        UNROLL
        for (int u = 0; u < SIDE_BY_SIDE; u++) x[u] = load(weights + i + u * LANES) - largest;
        exp_for_softmax(SIDE_BY_SIDE, x);
        UNROLL
        for (int u = 0; u < SIDE_BY_SIDE; u++) store(weights + i + u * LANES, x[u]);
    }
    for (; i < whole; i += LANES) {
        vector x = load(weights + i) - largest;
        exp_for_softmax(1, &x);
        store(weights + i, x);
    }
}

#endif
