/* Elementary functions of scalars in float32, made of library functions that are exact or correctly rounded. NaN in any
 * argument gives NaN; with_sign_of ignores whether x is NaN. kernels/cpu/functions.h and math.h explain the
 * formulas. */

INLINE real abs_real(real x) { return fabsf(x); }
INLINE real floor_real(real x) { return floorf(x); }
INLINE real sqrt_real(real x) { return sqrtf(x); }
INLINE real infinity_real(void) { return __int_as_float(0x7f800000); }
INLINE real nan_real(void) { return __int_as_float(0x7fc00000); }
INLINE real with_sign_of(real size, real x) { return copysignf(size, x); }

/* exp(x) for x <= 0; 0 below -87, so the result is never subnormal. */
INLINE real exp_negative(real x) {
    if (x < -87) return 0;
    real shifted = x * 0x1.715476p0f + 0x1.8p23f, k = shifted - 0x1.8p23f;
    real f = x - k * 0x1.62e4p-1f - k * 0x1.7f7d1cp-20f;
    real p = 0x1.a0d6cep-13f;
    p = p * f + 0x1.6e879cp-10f;
    p = p * f + 0x1.11111cp-7f;
    p = p * f + 0x1.55542cp-5f;
    p = p * f + 0x1.555556p-3f;
    p = p * f + 0x1.fffffep-2f;
    p = p * f * f + f + 1;
    return p * __uint_as_float((__float_as_uint(shifted) + 127) << 23);
}

/* exp(x) = 2^(k-1) * 2 exp(f), where x = k ln 2 + f and |f| <= ln 2 / 2. The exponent is k - 1, because 2^128 is not
 * a float; for k = -126 the computed 2^(k-1) is 0. */
INLINE real exp_real(real x) {
    const real lowest = -87.25f, highest = 89;
    x = x < lowest ? lowest : x > highest ? highest : x;
    real shifted = x * 0x1.715476p0f + 0x1.8p23f, k = shifted - 0x1.8p23f;
    real f = x - k * 0x1.62e4p-1f - k * 0x1.7f7d1cp-20f;
    real p = 0x1.6ac36cp-10f;
    p = p * f + 0x1.123da6p-7f;
    p = p * f + 0x1.555858p-5f;
    p = p * f + 0x1.55548cp-3f;
    p = p * f + 0x1.fffffcp-2f;
    real twice = 2 * (p * (f * f) + f) + 2;
    return twice * __uint_as_float((__float_as_uint(shifted) + 126) << 23);
}

/* log(x), with x = 2^k (1 + f), 1 + f in [2/3, 4/3). */
INLINE real log_real(real x) {
    if (!(x > 0 && x < infinity_real())) return x == 0 ? -infinity_real() : x < 0 ? nan_real() : x;
    bool subnormal = x < 0x1p-126f;
    int word = __float_as_int(subnormal ? x * 0x1p23f : x) - 0x3f2aaaab;
    real k = (real)((word >> 23) - (subnormal ? 23 : 0)), f = __int_as_float((word & 0x7fffff) + 0x3f2aaaab) - 1;
    real p = -0x1.08055cp-3f;
    p = p * f + 0x1.1e66b0p-3f;
    p = p * f - 0x1.f31152p-4f;
    p = p * f + 0x1.1ed71ap-3f;
    p = p * f - 0x1.559dcap-3f;
    p = p * f + 0x1.99d028p-3f;
    p = p * f - 0x1.fffef0p-3f;
    p = p * f + 0x1.555506p-2f;
    real tail = f * f * (p * f - 0.5f);
    return f + (tail + k * 0x1.7f7d1cp-20f) + k * 0x1.62e4p-1f;
}

/* tanh(x): x times a polynomial in x^2 if |x| < 0.6, elsewhere 1 - 2 / (exp(2|x|) + 1) with the sign of x. */
INLINE real tanh_real(real x) {
    real size = abs_real(x), z = x * x;
    if (!(size < 0.6f)) return with_sign_of(1 - 2 / (exp_real(2 * size) + 1), x);
    real p = -0x1.828776p-8f;
    p = p * z + 0x1.54c3c2p-6f;
    p = p * z - 0x1.b89abap-5f;
    p = p * z + 0x1.1109bep-3f;
    p = p * z - 0x1.55553ep-2f;
    return with_sign_of(p * z * size + size, x);
}

/* Returns erf(x); *weight = exp(-x^2). If |x| < 1, erf(x) is x times a polynomial in x^2; else |erf(x)| is
 * 1 - exp(-x^2) p, where p is a polynomial in |x| - 1.5. */
INLINE real erf_and_weight(real x, real *weight) {
    real size = abs_real(x), z = size * size, t = size - 1.5f;
    real near_zero = 0x1.499918p-14f, far_from_zero = -0x1.9cea06p-12f;
    near_zero = near_zero * z - 0x1.a40a3ap-11f;
    near_zero = near_zero * z + 0x1.5408bap-8f;
    near_zero = near_zero * z - 0x1.b7f982p-6f;
    near_zero = near_zero * z + 0x1.ce2d00p-4f;
    near_zero = near_zero * z - 0x1.81273ep-2f;
    near_zero = near_zero * z + 0x1.06eba8p-3f;
    far_from_zero = far_from_zero * t + 0x1.fa3340p-10f;
    far_from_zero = far_from_zero * t - 0x1.5d1884p-8f;
    far_from_zero = far_from_zero * t + 0x1.b66406p-7f;
    far_from_zero = far_from_zero * t - 0x1.0d7b86p-5f;
    far_from_zero = far_from_zero * t + 0x1.37ebcep-4f;
    far_from_zero = far_from_zero * t - 0x1.4f1a4ep-3f;
    far_from_zero = far_from_zero * t + 0x1.494dacp-2f;
    *weight = exp_negative(-z);
    real rest = *weight == 0 ? 0 : *weight * far_from_zero; /* the polynomial overflows for large |x| */
    return with_sign_of(size < 1 ? near_zero * size + size : 1 - rest, x);
}

/* sin(x + quarters pi/2), with x = n pi/2 + r, |r| <= pi/4. The first two parts of pi/2 have 8 and 7 bits, so n * part
 * is exact for |x| <= 2^17. */
INLINE real sine_after(real x, int quarters) {
    if (!(abs_real(x) <= 131072)) return nan_real();
    real shifted = x * 0x1.45f306p-1f + 0x1.8p23f, n = shifted - 0x1.8p23f;
    real r = x - n * 0x1.92p0f - n * 0x1.fcp-12f - n * -0x1.5777a6p-21f, z = r * r;
    real s = ((-0x1.9951e8p-13f * z + 0x1.110774p-7f) * z - 0x1.555546p-3f) * z * r + r;
    real c = ((0x1.99e0eep-16f * z - 0x1.6c0c1ap-10f) * z + 0x1.55554ap-5f) * (z * z) - 0.5f * z + 1;
    int quadrant = __float_as_int(shifted) + quarters;
    real y = quadrant & 1 ? c : s;
    return quadrant & 2 ? -y : y;
}

/* log2 of x >= 0, x not subnormal: x = 2^k m, m in [2/3, 4/3), log m = 2 atanh(s), s = (m - 1) / (m + 1). */
INLINE double wide_log2(double x) {
    if (x == 0 || x != x || x == infinity_real()) return x == 0 ? -infinity_real() : x;
    const long long one = 0x3ff0000000000000, two_thirds = 0x3fe5555555555555;
    long long bits = __double_as_longlong(x), exponent = (bits + (one - two_thirds)) >> 52;
    double k = (double)(exponent - 1023), m = __longlong_as_double(bits - (exponent << 52) + one);
    double s = (m - 1) / (m + 1), z = s * s, p = 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    p = p * z + 1;
    return k + p * s * (2 * 0x1.71547652b82fep0);
}

/* 2^y, with y = k + f, |f| <= 1/2. |y| is limited to 200, which exceeds all exponents of float. */
INLINE double wide_exp2(double y) {
    y = y > 200 ? 200 : y < -200 ? -200 : y;
    double shifted = y + 0x1.8p52, f = (y - (shifted - 0x1.8p52)) * 0x1.62e42fefa39efp-1;
    double p = 1.0 / 40320;
    p = p * f + 1.0 / 5040;
    p = p * f + 1.0 / 720;
    p = p * f + 1.0 / 120;
    p = p * f + 1.0 / 24;
    p = p * f + 1.0 / 6;
    p = p * f + 0.5;
    p = p * f + 1;
    p = p * f + 1;
    return p * __longlong_as_double((long long)(((unsigned long long)__double_as_longlong(shifted) + 1023) << 52));
}

/* |a|^b, in double, because the logarithm needs more bits than float has. */
INLINE real power_of_size(real a, real b) { return (real)wide_exp2((double)b * wide_log2((double)abs_real(a))); }
