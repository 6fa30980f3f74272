/* Elementary functions of scalars in float64, with errors within 3 ulp (power_of_size: 4e-13 relative). They call only
 * library functions that are exact or correctly rounded. NaN in any argument gives NaN; with_sign_of ignores whether x
 * is NaN. */

INLINE real abs_real(real x) { return fabs(x); }
INLINE real floor_real(real x) { return floor(x); }
INLINE real sqrt_real(real x) { return sqrt(x); }
INLINE real infinity_real(void) { return __longlong_as_double(0x7ff0000000000000); }
INLINE real nan_real(void) { return __longlong_as_double(0x7ff8000000000000); }
INLINE real with_sign_of(real size, real x) { return copysign(size, x); }

/* 2^exponent, -1022 <= exponent <= 1023. */
INLINE real power_of_two(int exponent) { return __longlong_as_double((long long)(exponent + 1023) << 52); }

/* The first terms of the series of (exp(f) - 1 - f) / f^2, |f| <= ln 2 / 2. */
INLINE real exp_series(real f) {
    real p = 1.0 / 6227020800;
    p = p * f + 1.0 / 479001600;
    p = p * f + 1.0 / 39916800;
    p = p * f + 1.0 / 3628800;
    p = p * f + 1.0 / 362880;
    p = p * f + 1.0 / 40320;
    p = p * f + 1.0 / 5040;
    p = p * f + 1.0 / 720;
    p = p * f + 1.0 / 120;
    p = p * f + 1.0 / 24;
    p = p * f + 1.0 / 6;
    return p * f + 0.5;
}

/* exp(x) for x <= 0; 0 below -708, so the result is never subnormal. */
INLINE real exp_negative(real x) {
    if (x < -708) return 0;
    real shifted = x * 0x1.71547652b82fep0 + 0x1.8p52, k = shifted - 0x1.8p52;
    real f = x - k * 0x1.62e42fefa0000p-1 - k * 0x1.cf79abc9e3b39p-40;
    real p = exp_series(f) * f * f + f + 1;
    return p * __longlong_as_double((long long)(((unsigned long long)__double_as_longlong(shifted) + 1023) << 52));
}

/* exp(x). The reduced argument f is kept as a sum of two parts until the end. The multiplication by 2^k takes two
 * steps, because 2^k alone may be out of range. */
INLINE real exp_real(real x) {
    if (x != x) return x;
    if (x > 709.79) return infinity_real();
    if (x < -745.14) return 0;
    int k = (int)(x * 0x1.71547652b82fep0 + (x < 0 ? -0.5 : 0.5));
    real high = x - k * 0x1.62e42feep-1, low = k * 0x1.a39ef35793c76p-33, f = high - low;
    real y = 1 + (high - (low - f * f * exp_series(f)));
    return y * power_of_two(k / 2) * power_of_two(k - k / 2);
}

/* log(x), with x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = 2 atanh(s), s = f / (2 + f). */
INLINE real log_real(real x) {
    if (x != x || x == infinity_real()) return x;
    if (x <= 0) return x < 0 ? nan_real() : -infinity_real();
    int k = x < 0x1p-1022 ? -54 : 0;
    long long bits = __double_as_longlong(x < 0x1p-1022 ? x * 0x1p54 : x);
    k += (int)(bits >> 52) - 1023;
    real m = __longlong_as_double((bits & 0xfffffffffffff) | 0x3ff0000000000000);
    if (m >= 0x1.6a09e667f3bcdp0) {
        m *= 0.5;
        k++;
    }
    real f = m - 1, s = f / (2 + f), z = s * s, half = 0.5 * f * f;
    real p = 2.0 / 23;
    p = p * z + 2.0 / 21;
    p = p * z + 2.0 / 19;
    p = p * z + 2.0 / 17;
    p = p * z + 2.0 / 15;
    p = p * z + 2.0 / 13;
    p = p * z + 2.0 / 11;
    p = p * z + 2.0 / 9;
    p = p * z + 2.0 / 7;
    p = p * z + 2.0 / 5;
    p = p * z + 2.0 / 3;
    real tail = s * (half + z * p) + k * 0x1.a39ef35793c76p-33;
    return k * 0x1.62e42feep-1 - ((half - tail) - f);
}

/* tanh(x). If |x| < 0.3, it is Lambert's continued fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))), else
 * 1 - 2 / (exp(2|x|) + 1) with the sign of x. */
INLINE real tanh_real(real x) {
    real size = abs_real(x), squared = x * x, fraction = 19;
    if (!(size < 0.3)) return with_sign_of(1 - 2 / (exp_real(2 * size) + 1), x);
    for (int odd = 17; odd > 0; odd -= 2) fraction = odd + squared / fraction;
    return x / fraction;
}

/* Returns erf(x); *weight = exp(-x^2). If |x| < 1.125, erf(x) is Taylor's series
 * 2 / sqrt(pi) x (1 - x^2 / 3 (1 - 3 x^2 / 10 (1 - 5 x^2 / 21 (1 - ...)))). Else |erf(x)| is 1 minus erfc's
 * continued fraction exp(-x^2) / sqrt(pi) / (x + (1/2) / (x + (2/2) / (x + (3/2) / (x + ...)))). */
INLINE real erf_and_weight(real x, real *weight) {
    const real two_over_root_pi = 0x1.20dd750429b6dp0;
    real size = abs_real(x), z = size * size, series = 1, fraction = size + 1;
    *weight = exp_negative(-z);
    if (size < 1.125) {
        for (int n = 22; n > 0; n--) series = 1 - z * series * ((2 * n - 1) / (n * (2 * n + 1.0)));
        return with_sign_of(size + size * (two_over_root_pi * series - 1), x);
    }
    for (int n = 144; n > 0; n--) fraction = size + 0.5 * n / fraction;
    return with_sign_of(1 - two_over_root_pi / 2 * *weight / fraction, x);
}

/* sin(x + quarters pi/2), with x = n pi/2 + r, |r| <= pi/4. The first two parts of pi/2 have 33 bits, so n * part is
 * exact. */
INLINE real sine_after(real x, int quarters) {
    if (!(abs_real(x) <= 131072)) return nan_real();
    int n = (int)(x * 0x1.45f306dc9c883p-1 + (x < 0 ? -0.5 : 0.5));
    real r = ((x - n * 0x1.921fb544p0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69, z = r * r;
    real s = 1.0 / 355687428096000;
    s = s * z - 1.0 / 1307674368000;
    s = s * z + 1.0 / 6227020800;
    s = s * z - 1.0 / 39916800;
    s = s * z + 1.0 / 362880;
    s = s * z - 1.0 / 5040;
    s = s * z + 1.0 / 120;
    s = s * z - 1.0 / 6;
    real c = -1.0 / 6402373705728000;
    c = c * z + 1.0 / 20922789888000;
    c = c * z - 1.0 / 87178291200;
    c = c * z + 1.0 / 479001600;
    c = c * z - 1.0 / 3628800;
    c = c * z + 1.0 / 40320;
    c = c * z - 1.0 / 720;
    c = c * z + 1.0 / 24;
    c = c * z - 1.0 / 2;
    int quadrant = n + quarters;
    real y = quadrant & 1 ? 1 + z * c : r + r * z * s;
    return quadrant & 2 ? -y : y;
}

/* |a|^b */
INLINE real power_of_size(real a, real b) { return exp_real(b * log_real(abs_real(a))); }
