/* Computes elementary functions; see longhand/math.h.
 *
 * The functions use only basic arithmetic, square roots, conversions to integers and exact operations on bits, and each
 * operation is rounded separately. lh_exp and lh_sincos reduce arguments as in Cody and Waite 1980. The polynomials of
 * lh_exp, lh_log and lh_sincos are Taylor series whose truncation error is below a twentieth of an ulp.
 */
#include "base/exact.h"

#include "longhand/math.h"

#include <string.h>

/* ln 2 in two parts; the first has 32 bits, so k * LN2_HIGH is exact for every exponent k. */
static const double LN2_HIGH = 0x1.62e42feep-1;
static const double LN2_LOW = 0x1.a39ef35793c76p-33;

/* pi / 2 in three parts; the first two have at most 33 bits, so n * part is exact for |n| < 2^20. */
static const double HALF_PI_1 = 0x1.921fb544p+0;
static const double HALF_PI_2 = 0x1.0b4611a6p-34;
static const double HALF_PI_3 = 0x1.3198a2e037073p-69;

static const double INFINITE = __builtin_huge_val();

static double make_power_of_two(int exponent) { /* -1022 <= exponent <= 1023 */
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* c[0] + c[1] x + ... + c[degree] x^degree, by Horner's rule. */
static double evaluate_polynomial(const double *c, int degree, double x) {
    double sum = c[degree];
    for (int i = degree - 1; i >= 0; i--) sum = sum * x + c[i];
    return sum;
}

/* x = k ln 2 + r, |r| <= ln 2 / 2; exp(r) = 1 + r + r^2 q(r). The reduced argument stays in two parts until the end. */
double lh_exp(double x) {
    static const double q[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                               1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                               1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    if (x != x) return x;
    if (x > 709.79) return INFINITE;
    if (x < -745.14) return 0.0;
    int k = (int)(x * 0x1.71547652b82fep+0 + (x < 0 ? -0.5 : 0.5));
    double high = x - k * LN2_HIGH, low = k * LN2_LOW;
    double r = high - low;
    double y = 1.0 + (high - (low - r * r * evaluate_polynomial(q, 11, r)));
    int half = k / 2; /* y is scaled in two steps, since 2^k itself may be out of range */
    return y * make_power_of_two(half) * make_power_of_two(k - half);
}

/* x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); with s = f / (2 + f),
 * log(1 + f) = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + R)), R = 2 s^2/3 + 2 s^4/5 + ... */
double lh_log(double x) {
    static const double c[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                               2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
    if (x != x || x == INFINITE) return x;
    if (x <= 0) return x < 0 ? __builtin_nan("") : -INFINITE;
    int k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        k = -54;
    }
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    k += (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffull) | 0x3ff0000000000000ull;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m >= 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        k++;
    }
    double f = m - 1.0, s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    double tail = s * (half + z * evaluate_polynomial(c, 10, z)) + k * LN2_LOW;
    return k * LN2_HIGH - ((half - tail) - f);
}

/* x = n pi/2 + r, |r| <= pi/4. Depending on the quadrant n mod 4, sin x is sin r, cos r, -sin r or -cos r. */
void lh_sincos(double x, double *sine, double *cosine) {
    static const double s[] = {-1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
                               -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
    static const double c[] = {-1.0 / 2,
                               1.0 / 24,
                               -1.0 / 720,
                               1.0 / 40320,
                               -1.0 / 3628800,
                               1.0 / 479001600,
                               -1.0 / 87178291200,
                               1.0 / 20922789888000,
                               -1.0 / 6402373705728000};
    int64_t n = (int64_t)(x * 0x1.45f306dc9c883p-1 + (x < 0 ? -0.5 : 0.5));
    double r = ((x - n * HALF_PI_1) - n * HALF_PI_2) - n * HALF_PI_3;
    double z = r * r;
    double sin_r = r + r * z * evaluate_polynomial(s, 7, z);
    double cos_r = 1.0 + z * evaluate_polynomial(c, 8, z);
    switch (n & 3) {
    case 0: *sine = sin_r, *cosine = cos_r; break;
    case 1: *sine = cos_r, *cosine = -sin_r; break;
    case 2: *sine = -sin_r, *cosine = -cos_r; break;
    default: *sine = -cos_r, *cosine = sin_r; break;
    }
}

double lh_power(double base, int64_t n) {
    double result = 1.0;
    for (; n > 0; n >>= 1) {
        if (n & 1) result *= base;
        if (n > 1) base *= base;
    }
    return result;
}

/* Wichura 1988, "Algorithm AS 241: the percentage points of the normal distribution", routine PPND16. For p near 1/2
 * the result is a rational function of p; in each tail it is one of two rational functions of r = sqrt(-log(tail)). */
double lh_normal_quantile(double p) {
    static const double a[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                               1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                               3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double b[] = {1.0000000000000000000e0, 4.2313330701600911252e1, 6.8718700749205790830e2,
                               5.3941960214247511077e3, 2.1213794301586595867e4, 3.9307895800092710610e4,
                               2.8729085735721942674e4, 5.2264952788528545610e3};
    static const double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                               3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                               2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[] = {1.0000000000000000000e0,   2.05319162663775882187e0,  1.67638483018380384940e0,
                               6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
                               5.47593808499534494600e-4, 1.05075007164441684324e-9};
    static const double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                               2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[] = {1.0000000000000000000e0,   5.99832206555887937690e-1, 1.36929880922735805310e-1,
                               1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                               1.42151175831644588870e-7, 2.04426310338993978564e-15};
    double q = p - 0.5;
    if (q >= -0.425 && q <= 0.425) {
        double r = 0.180625 - q * q;
        return q * evaluate_polynomial(a, 7, r) / evaluate_polynomial(b, 7, r);
    }
    double r = __builtin_sqrt(-lh_log(q < 0 ? p : 1.0 - p));
    double x = r <= 5.0 ? evaluate_polynomial(c, 7, r - 1.6) / evaluate_polynomial(d, 7, r - 1.6)
                        : evaluate_polynomial(e, 7, r - 5.0) / evaluate_polynomial(f, 7, r - 5.0);
    return q < 0 ? -x : x;
}

/* Near 0: 1/2 + phi(x) (x + x^3/3 + x^5/(3 5) + ...), all terms of one sign. Farther out the tail is
 * phi(x) / (x + 1/(x + 2/(x + 3/(...)))), evaluated from its 60th level outwards. Source: Abramowitz and Stegun,
 * formulas 26.2.11 and 26.2.14. */
double lh_normal_cumulative(double x) {
    double size = x < 0 ? -x : x, density = lh_exp(-0.5 * x * x) * 0x1.9884533d43651p-2;
    if (size < 2.5) {
        double term = size, sum = size;
        for (int k = 3; term > sum * 0x1p-60; k += 2) {
            term = term * x * x / k;
            sum += term;
        }
        return x < 0 ? 0.5 - density * sum : 0.5 + density * sum;
    }
    double fraction = size;
    for (int k = 60; k >= 1; k--) fraction = size + k / fraction;
    return x < 0 ? density / fraction : 1.0 - density / fraction;
}
