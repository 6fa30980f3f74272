/* Elementary functions of vectors, for score expressions and activations. They use no libm, so results have the same
 * bits with every libc.
 *
 * float: branch-free vector code, for the inner loop of attention. Comments give errors, measured over the range of
 * float. Coefficients are minimax fits made for this file; comments give the polynomial's interval and error.
 *
 * double: functions of longhand/math.h, lane by lane, for gradient checks. Errors are within 3 ulp (pow_of: 4e-13
 * relative).
 *
 * NaN in any argument gives NaN, except in maximum (vector.h). A function ..._real returns lane 0 of the vector
 * function, so both have the same bits. Only constant arguments can give other bits: the compiler computes with them
 * without fused multiply-adds.
 */
#ifndef LONGHAND_KERNELS_FUNCTIONS_H
#define LONGHAND_KERNELS_FUNCTIONS_H

#include "kernels/cpu/math.h"
#include "kernels/cpu/vector.h"
#include "longhand/math.h"

/* ---- signs, masks, integers ---- */

INLINE vector abs_of(vector x) { return (vector)((bits)x & ~(bits)broadcast(-(real)0)); }
INLINE vector with_sign_of(vector size, vector x) { /* size >= 0 */
    return (vector)((bits)size | ((bits)x & (bits)broadcast(-(real)0)));
}

INLINE bits less_than(vector a, vector b) { return a < b; }
INLINE bits at_most(vector a, vector b) { return a <= b; }
INLINE bits equals(vector a, vector b) { return a == b; }
INLINE bits both(bits m, bits n) { return m & n; }
INLINE bits either(bits m, bits n) { return m | n; }
INLINE bits not_of(bits m) { return ~m; }

INLINE vector minimum(vector a, vector b) { return choose((a < b) | (a != a), a, b); }

/* All numbers from `whole` on are integers; adding `whole` to a smaller number rounds it to the nearest integer. */
INLINE vector floor_of(vector x) {
    const real whole = REAL_BYTES == 8 ? (real)0x1p52 : (real)0x1p23;
    vector size = abs_of(x), nearest = with_sign_of(size + whole - whole, x);
    return choose(size < whole, nearest - keep_where(nearest > x, broadcast(1)), x);
}

/* a - n floor(a / n), n > 0. Exact for integers |a| < 2^23, n < 2^20: their a / n is an integer or at least 1 / n below
 * the next integer, and the rounding error is less than 1 / n. For other arguments with a / n close to an integer, the
 * result may lie at the wrong end of [0, n). */
INLINE vector mod_of(vector a, vector n) {
    vector rest = a - n * floor_of(a / n);
    return choose((rest < 0) | (rest >= n), broadcast(0), rest);
}

/* first, first + step, ... by lane. */
INLINE vector counting(real first, real step) {
    vector lane;
    UNROLL
    for (int k = 0; k < LANES; k++) lane[k] = (real)k;
    return first + step * lane;
}

/* Lane k is table[index[k]]; indices must be integers within the table. */
INLINE vector gather(const real *table, vector index) {
    vector x = {0};
    UNROLL
    for (int k = 0; k < LANES; k++) x[k] = table[(int)index[k]];
    return x;
}

/* table[index[k]] += x[k], in the order of lanes. */
INLINE void scatter_add(real *table, vector index, vector x) {
    UNROLL
    for (int k = 0; k < LANES; k++) table[(int)index[k]] += x[k];
}

/* x if |x| <= 131072, else NaN: for larger angles the reduction in float is not exact. */
INLINE vector limit_angle(vector x) {
    return choose(abs_of(x) <= (real)131072, x, broadcast((real)__builtin_nanf("")));
}

#if REAL_BYTES == 8

INLINE vector exp_of(vector x) {
    for (int k = 0; k < LANES; k++) x[k] = lh_exp(x[k]);
    return x;
}

INLINE vector log_of(vector x) {
    for (int k = 0; k < LANES; k++) x[k] = lh_log(x[k]);
    return x;
}

/* tanh(x). If |x| < 0.3, it is Lambert's continued fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))), else
 * 1 - 2 / (exp(2|x|) + 1) with the sign of x. */
INLINE vector tanh_of(vector x) {
    vector size = abs_of(x), squared = x * x, fraction = broadcast(19), far_from_zero = 1 - 2 / (exp_of(2 * size) + 1);
    for (int odd = 17; odd > 0; odd -= 2) fraction = odd + squared / fraction;
    return choose(size < (real)0.3, x / fraction, with_sign_of(far_from_zero, x));
}

/* Returns erf(x); *weight = exp(-x^2). If |x| < 1.125, erf(x) is Taylor's series
 *   2 / sqrt(pi) x (1 - x^2 / 3 (1 - 3 x^2 / 10 (1 - 5 x^2 / 21 (1 - ...)))).
 * For x >= 1.125, erf(x) is 1 minus erfc's continued fraction
 *   exp(-x^2) / sqrt(pi) / (x + (1/2) / (x + (2/2) / (x + (3/2) / (x + ...)))),
 * and erf(-x) = -erf(x). */
INLINE vector erf_and_weight(vector x, vector *weight) {
    const real two_over_root_pi = 0x1.20dd750429b6dp0;
    vector size = abs_of(x), z = size * size, series = broadcast(1), fraction = size + 1;
    for (int n = 22; n > 0; n--) series = 1 - z * series * ((2 * n - 1) / (n * (2 * n + (real)1)));
    for (int n = 144; n > 0; n--) fraction = size + (real)0.5 * n / fraction;
    *weight = exp_negative(-z);
    vector near_zero = size + size * (two_over_root_pi * series - 1),
           far_from_zero = 1 - two_over_root_pi / 2 * *weight / fraction;
    return with_sign_of(choose(size < (real)1.125, near_zero, far_from_zero), x);
}

INLINE vector sin_of(vector x) {
    x = limit_angle(x);
    for (int k = 0; k < LANES; k++) {
        double sine = x[k], cosine;
        if (x[k] == x[k]) lh_sincos(x[k], &sine, &cosine);
        x[k] = sine;
    }
    return x;
}

INLINE vector cos_of(vector x) {
    x = limit_angle(x);
    for (int k = 0; k < LANES; k++) {
        double sine, cosine = x[k];
        if (x[k] == x[k]) lh_sincos(x[k], &sine, &cosine);
        x[k] = cosine;
    }
    return x;
}

/* |a|^b */
INLINE vector power_of_size(vector a, vector b) {
    for (int k = 0; k < LANES; k++) a[k] = lh_exp(b[k] * lh_log(a[k] < 0 ? -a[k] : a[k]));
    return a;
}

#else

/* coefficient[0] x^(terms - 1) + ... + coefficient[terms - 1] */
INLINE vector polynomial(const real *coefficient, int terms, vector x) {
    vector sum = broadcast(coefficient[0]);
    UNROLL
    for (int i = 1; i < terms; i++) sum = sum * x + coefficient[i];
    return sum;
}

/* exp(x) within 1.1 ulp; 0 below -87 and infinity above 88.72. x = k ln 2 + f, |f| <= ln 2 / 2.
 *   (exp(f) - 1 - f) / f^2 is a polynomial of degree 4, with an error of 4e-9 relative to exp(f).
 *   Adding 0x1.8p23 rounds to an integer and leaves k in the low bits of the sum.
 *   The result is 2^(k-1) times 2 exp(f), because 2^128 is no float. For k = -126 the computed 2^(k-1) is 0. */
INLINE vector exp_of(vector x) {
    const real coefficient[] = {0x1.6ac36cp-10f, 0x1.123da6p-7f, 0x1.555858p-5f, 0x1.55548cp-3f, 0x1.fffffcp-2f};
    const real round = 0x1.8p23f, ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f, log2_e = 0x1.715476p0f;
    const real lowest = -87.25f, highest = 89;
    x = choose(x < lowest, broadcast(lowest), choose(x > highest, broadcast(highest), x));
    vector shifted = x * log2_e + round, k = shifted - round;
    vector f = x - k * ln2_high - k * ln2_low;
    vector twice = 2 * (polynomial(coefficient, 5, f) * (f * f) + f) + 2;
    return twice * (vector)(((bits)shifted << 23) + (126 << 23));
}

/* log(x) within 1 ulp, also for subnormal x. x = 2^k (1 + f), 1 + f in [2/3, 4/3).
 *   (log(1 + f) - f + f^2 / 2) / f^3 is a polynomial of degree 7, with an error of 6e-9 relative to log(1 + f). */
INLINE vector log_of(vector x) {
    const real coefficient[] = {-0x1.08055cp-3f, 0x1.1e66b0p-3f, -0x1.f31152p-4f, 0x1.1ed71ap-3f,
                                -0x1.559dcap-3f, 0x1.99d028p-3f, -0x1.fffef0p-3f, 0x1.555506p-2f};
    const real ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f, infinity = __builtin_inff();
    const int32_t two_thirds = 0x3f2aaaab;
    bits subnormal = x < 0x1p-126f, ordinary = (x > 0) & (x < infinity);
    vector normal = choose(ordinary, choose(subnormal, x * 0x1p23f, x), broadcast(1));
    bits word = (bits)normal - two_thirds;
    vector k = __builtin_convertvector((word >> 23) - (subnormal & 23), vector);
    vector f = (vector)((word & 0x7fffff) + two_thirds) - 1;
    vector tail = f * f * (polynomial(coefficient, 8, f) * f - 0.5f);
    vector y = f + (tail + k * ln2_low) + k * ln2_high;
    vector outside = choose(x == 0, broadcast(-infinity), choose(x < 0, broadcast(__builtin_nanf("")), x));
    return choose(ordinary, y, outside);
}

/* tanh(x) within 1.5 ulp.
 *   |x| < 0.6: (tanh x - x) / x^3 is a polynomial of degree 4 in x^2, with an error of 3e-9 relative to tanh x.
 *   |x| >= 0.6: 1 - 2 / (exp(2|x|) + 1) with the sign of x, which is 1 or -1 from |x| = 10 on. */
INLINE vector tanh_of(vector x) {
    const real coefficient[] = {-0x1.828776p-8f, 0x1.54c3c2p-6f, -0x1.b89abap-5f, 0x1.1109bep-3f, -0x1.55553ep-2f};
    vector size = abs_of(x), z = x * x, far_from_zero = 1 - 2 / (exp_of(2 * size) + 1);
    return with_sign_of(choose(size < 0.6f, polynomial(coefficient, 5, z) * z * size + size, far_from_zero), x);
}

/* Returns erf(x); *weight = exp(-x^2).
 *   |x| < 1: (erf x - x) / x is a polynomial of degree 6 in x^2, with an error of 6e-9 relative to erf x.
 *   x >= 1: erf x = 1 - exp(-x^2) p, where p is a polynomial of degree 7 in x - 1.5. On [1, 4] the error is 2e-8
 *   relative to erf x. */
INLINE vector erf_and_weight(vector x, vector *weight) {
    const real near_zero[] = {0x1.499918p-14f, -0x1.a40a3ap-11f, 0x1.5408bap-8f, -0x1.b7f982p-6f,
                              0x1.ce2d00p-4f,  -0x1.81273ep-2f,  0x1.06eba8p-3f};
    const real far_from_zero[] = {-0x1.9cea06p-12f, 0x1.fa3340p-10f, -0x1.5d1884p-8f, 0x1.b66406p-7f,
                                  -0x1.0d7b86p-5f,  0x1.37ebcep-4f,  -0x1.4f1a4ep-3f, 0x1.494dacp-2f};
    vector size = abs_of(x), z = size * size;
    *weight = exp_negative(-z);
    vector rest =
        keep_where(*weight != 0, *weight * polynomial(far_from_zero, 8, size - 1.5f)); /* p overflows for large |x| */
    return with_sign_of(choose(size < 1, polynomial(near_zero, 7, z) * size + size, 1 - rest), x);
}

/* sin(x + quarters pi/2), with an absolute error below 1e-7. x = n pi/2 + r, |r| <= pi/4.
 *   pi/2 = part1 + part2 + part3. part1 has 8 bits and part2 has 7 bits. So their products with n, and the differences,
 *   are exact for |x| <= 2^17.
 *   (sin r - r) / r^3 is a polynomial of degree 2 in r^2, with an error of 4e-9 relative to sin r for |r| <= 0.786.
 *   (cos r - 1 + r^2 / 2) / r^4 is a polynomial of degree 2 in r^2, with an error of 2e-10 for |r| <= 0.786. */
INLINE vector sine_after(vector x, int quarters) {
    const real round = 0x1.8p23f, part1 = 0x1.92p0f, part2 = 0x1.fcp-12f, part3 = -0x1.5777a6p-21f;
    const real sine[] = {-0x1.9951e8p-13f, 0x1.110774p-7f, -0x1.555546p-3f};
    const real cosine[] = {0x1.99e0eep-16f, -0x1.6c0c1ap-10f, 0x1.55554ap-5f};
    x = limit_angle(x);
    vector shifted = x * 0x1.45f306p-1f + round, n = shifted - round;
    vector r = x - n * part1 - n * part2 - n * part3, z = r * r;
    vector s = polynomial(sine, 3, z) * z * r + r, c = polynomial(cosine, 3, z) * (z * z) - 0.5f * z + 1;
    bits quadrant = (bits)shifted + quarters;
    vector y = choose((quadrant & 1) == 1, c, s);
    return (vector)((bits)y ^ ((quadrant & 2) << 30));
}

INLINE vector sin_of(vector x) { return sine_after(x, 0); }
INLINE vector cos_of(vector x) { return sine_after(x, 1); }

/* Powers need a logarithm with more bits than float has, so they are computed in double, half the lanes at a time. */
typedef double wide __attribute__((vector_size(LH_VECTOR_BYTES)));
typedef int64_t wide_bits __attribute__((vector_size(LH_VECTOR_BYTES)));
typedef float narrow __attribute__((vector_size(LH_VECTOR_BYTES / 2)));

INLINE wide wide_choose(wide_bits mask, wide a, wide b) {
    return (wide)(((wide_bits)a & mask) | ((wide_bits)b & ~mask));
}

/* log2(x) for x >= 0, x not subnormal. x = 2^k m, m in [2/3, 4/3).
 *   exponent + two52, read as a double, is 2^52 + k + 1023.
 *   log m = 2 atanh(s), s = (m - 1) / (m + 1). The truncation error of the series of atanh is 1e-11. */
INLINE wide wide_log2(wide x) {
    const int64_t one = 0x3ff0000000000000, two_thirds = 0x3fe5555555555555, two52 = 0x4330000000000000;
    const double infinity = __builtin_inf();
    wide_bits finite = (wide_bits)wide_choose(x < infinity, x, 1 - (wide){0});
    wide_bits exponent = (finite + (one - two_thirds)) >> 52;
    wide k = (wide)(exponent + two52) - (0x1p52 + 1023);
    wide m = (wide)(finite - (exponent << 52) + one);
    wide s = (m - 1) / (m + 1), z = s * s, sum = z / 13 + 1.0 / 11;
    UNROLL
    for (int odd = 9; odd > 0; odd -= 2) sum = sum * z + 1.0 / odd;
    wide y = k + sum * s * (2 * 0x1.71547652b82fep0);
    y = wide_choose(x == 0, -infinity - (wide){0}, y);
    return wide_choose(x < infinity, y, x);
}

/* 2^y = 2^k exp(f), y = k + f / ln 2, |f| <= ln 2 / 2. The truncation error of Taylor's series of exp is 2e-10. */
INLINE wide wide_exp2(wide y) {
    const double round = 0x1.8p52, limit = 200; /* limit lies outside the range of float's exponents */
    const double coefficient[] = {1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1};
    y = wide_choose(y > limit, limit - (wide){0}, wide_choose(y < -limit, -limit - (wide){0}, y));
    wide shifted = y + round, f = (y - (shifted - round)) * 0x1.62e42fefa39efp-1;
    wide sum = coefficient[0] - (wide){0};
    UNROLL
    for (int i = 1; i < 9; i++) sum = sum * f + coefficient[i];
    wide_bits scale = ((wide_bits)shifted << 52) + 0x3ff0000000000000;
    return sum * (wide)scale;
}

/* |a|^b */
INLINE vector power_of_size(vector a, vector b) {
    vector size = abs_of(a), y;
    UNROLL
    for (size_t offset = 0; offset < LH_VECTOR_BYTES; offset += sizeof(narrow)) {
        narrow base, exponent, power;
        memcpy(&base, (const char *)&size + offset, sizeof base);
        memcpy(&exponent, (const char *)&b + offset, sizeof exponent);
        wide log2 = wide_log2(__builtin_convertvector(base, wide));
        power = __builtin_convertvector(wide_exp2(__builtin_convertvector(exponent, wide) * log2), narrow);
        memcpy((char *)&y + offset, &power, sizeof power);
    }
    return y;
}

#endif

/* log(1 + x). The first term of the series of log corrects the rounding error `lost` of 1 + x. Within 1.5 ulp. */
INLINE vector log1p_of(vector x) {
    vector sum = 1 + x, lost = x - (sum - 1);
    bits matters = (sum > 0) & (sum < (real)__builtin_inf());
    return log_of(sum) + keep_where(matters, lost / sum);
}

/* 1 / (1 + exp(-x)), computed as q / (1 + q) or 1 / (1 + q) with q = exp(-|x|), so neither sum nor quotient overflows.
 * Within 2.4 ulp; in float 0 below -87 and 1 above 17. */
INLINE vector sigmoid_of(vector x) {
    vector q = exp_of(-abs_of(x));
    return choose(x < 0, q, broadcast(1)) / (1 + q);
}

/* log(1 / (1 + exp(-x))); neither the value nor its gradient overflows. */
INLINE vector log_sigmoid_of(vector x) { return minimum(x, broadcast(0)) - log1p_of(exp_of(-abs_of(x))); }

/* erf(x), within 1.5 ulp; 1 from x = 4 (float) or x = 6 (double) on. */
INLINE vector erf_of(vector x) {
    vector weight;
    return erf_and_weight(x, &weight);
}

/* a^b as C's pow computes it, with these differences:
 *   The result is NaN for any NaN argument, and for 1 or -1 to an infinite power.
 *   a = -0 counts as 0.
 * The float result is rounded from double. */
INLINE vector pow_of(vector a, vector b) {
    bits negative = a < 0, fraction = floor_of(b) != b, odd = (b - 2 * floor_of(b / 2)) == 1;
    vector size = power_of_size(a, b);
    vector y = choose(negative & odd, -size, size);
    y = choose(negative & fraction, broadcast((real)__builtin_nanf("")), y);
    return choose((b == 0) & (a == a), broadcast(1), y);
}

/* ---- scalars ---- */

INLINE real exp_real(real x) { return exp_of(broadcast(x))[0]; }
INLINE real log_real(real x) { return log_of(broadcast(x))[0]; }
INLINE real log1p_real(real x) { return log1p_of(broadcast(x))[0]; }
INLINE real tanh_real(real x) { return tanh_of(broadcast(x))[0]; }
INLINE real sigmoid_real(real x) { return sigmoid_of(broadcast(x))[0]; }
INLINE real log_sigmoid_real(real x) { return log_sigmoid_of(broadcast(x))[0]; }
INLINE real erf_real(real x) { return erf_of(broadcast(x))[0]; }
INLINE real sin_real(real x) { return sin_of(broadcast(x))[0]; }
INLINE real cos_real(real x) { return cos_of(broadcast(x))[0]; }
INLINE real floor_real(real x) { return floor_of(broadcast(x))[0]; }
INLINE real abs_real(real x) { return abs_of(broadcast(x))[0]; }
INLINE real minimum_real(real a, real b) { return minimum(broadcast(a), broadcast(b))[0]; }
INLINE real maximum_real(real a, real b) { return maximum(broadcast(a), broadcast(b))[0]; }
INLINE real pow_real(real a, real b) { return pow_of(broadcast(a), broadcast(b))[0]; }
INLINE real mod_real(real a, real n) { return mod_of(broadcast(a), broadcast(n))[0]; }

#endif
