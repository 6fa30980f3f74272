/* Elementary functions of scalars, for softmax and score expressions: those of kernels/cpu/functions.h and math.h, with
 * their algorithms, special cases and bounds of error. No library function but square root, absolute value and floor,
 * which are exact or correctly rounded, and none of the processor's approximations.
 *
 * NaN in any argument gives NaN; maximum_real is the exception.
 */

INLINE real minimum_real(real a, real b) { return a < b || a != a ? a : b; }
INLINE real maximum_real(real a, real b) { return a > b ? a : b; }

/* How many of the ascending edges are at most x. */
INLINE real bucket_real(real x, int count, const real *edge) {
    int sum = 0;
    for (int e = 0; e < count; e++) sum += edge[e] <= x;
    return (real)sum;
}

#if REAL_BYTES == 8

INLINE real abs_real(real x) { return fabs(x); }
INLINE real floor_real(real x) { return floor(x); }
INLINE real sqrt_real(real x) { return sqrt(x); }
INLINE real infinity_real(void) { return __longlong_as_double(0x7ff0000000000000); }
INLINE real nan_real(void) { return __longlong_as_double(0x7ff8000000000000); }
INLINE real with_sign_of(real size, real x) { return copysign(size, x); }

/* 2^exponent, -1022 <= exponent <= 1023. */
INLINE real power_of_two(int exponent) { return __longlong_as_double((long long)(exponent + 1023) << 52); }

/* x = k ln 2 + f, |f| <= ln 2 / 2; (exp(f) - 1 - f) / f^2 as the first terms of its series. */
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

/* exp(x) for x <= 0; 0 below -708, so that no product with it is subnormal. */
INLINE real exp_negative(real x) {
    if (x < -708) return 0;
    real shifted = x * 0x1.71547652b82fep0 + 0x1.8p52, k = shifted - 0x1.8p52;
    real f = x - k * 0x1.62e42fefa0000p-1 - k * 0x1.cf79abc9e3b39p-40;
    real p = exp_series(f) * f * f + f + 1;
    return p * __longlong_as_double((long long)(((unsigned long long)__double_as_longlong(shifted) + 1023) << 52));
}

/* runtime/base/math.c: the reduced argument stays in two parts until the end, and 2^k is multiplied in two steps, since
 * it may be out of range. */
INLINE real exp_real(real x) {
    if (x != x) return x;
    if (x > 709.79) return infinity_real();
    if (x < -745.14) return 0;
    int k = (int)(x * 0x1.71547652b82fep0 + (x < 0 ? -0.5 : 0.5));
    real high = x - k * 0x1.62e42feep-1, low = k * 0x1.a39ef35793c76p-33, f = high - low;
    real y = 1 + (high - (low - f * f * exp_series(f)));
    return y * power_of_two(k / 2) * power_of_two(k - k / 2);
}

/* x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = 2 atanh(s), s = f / (2 + f). */
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

/* Near 0 Lambert's continued fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))), farther out 1 - 2 / (exp(2|x|) + 1). */
INLINE real tanh_real(real x) {
    real size = abs_real(x), squared = x * x, fraction = 19;
    if (!(size < 0.3)) return with_sign_of(1 - 2 / (exp_real(2 * size) + 1), x);
    for (int odd = 17; odd > 0; odd -= 2) fraction = odd + squared / fraction;
    return x / fraction;
}

/* x = n pi/2 + r, |r| <= pi/4; sin(x + quarters pi/2). The first two parts of pi/2 have 33 bits: n * part is exact. */
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

#else

INLINE real abs_real(real x) { return fabsf(x); }
INLINE real floor_real(real x) { return floorf(x); }
INLINE real sqrt_real(real x) { return sqrtf(x); }
INLINE real infinity_real(void) { return __int_as_float(0x7f800000); }
INLINE real nan_real(void) { return __int_as_float(0x7fc00000); }
INLINE real with_sign_of(real size, real x) { return copysignf(size, x); }

/* exp(x) for x <= 0; 0 below the smallest normal number's logarithm, so that no product with it is subnormal. */
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

/* x = k ln 2 + f, |f| <= ln 2 / 2. 2^(k-1) and twice exp(f), since 2^128 is no float; it is 0 for k = -126. */
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

/* x = 2^k (1 + f), 1 + f in [2/3, 4/3). */
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

/* Below 0.6 a polynomial in x^2; farther out 1 - 2 / (exp(2|x|) + 1). */
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

/* x = n pi/2 + r, |r| <= pi/4; sin(x + quarters pi/2). The first two parts of pi/2 have 8 and 7 bits, so n * part is
 * exact for |x| <= 2^17. */
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

/* log2 of x >= 0, no subnormal: x = 2^k m, m in [2/3, 4/3), log m = 2 atanh(s), s = (m - 1) / (m + 1). */
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

/* 2^y: y = k + f, |f| <= 1/2; a y past float's range on either side gives what float rounds to infinity or 0. */
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

/* |a|^b: a logarithm needs more bits than float has. */
INLINE real power_of_size(real a, real b) { return (real)wide_exp2((double)b * wide_log2((double)abs_real(a))); }

#endif

INLINE real sin_real(real x) { return sine_after(x, 0); }
INLINE real cos_real(real x) { return sine_after(x, 1); }

/* a - n floor(a / n), n > 0: exact for integers |a| < 2^23, n < 2^20. Other numbers may round to either end of [0, n);
 * both mean 0. */
INLINE real mod_real(real a, real n) {
    real rest = a - n * floor_real(a / n);
    return rest < 0 || rest >= n ? 0 : rest;
}

/* log(1 + x): what rounding 1 + x lost comes back as the first term of log's series there. */
INLINE real log1p_real(real x) {
    real sum = 1 + x, lost = x - (sum - 1);
    return log_real(sum) + (sum > 0 && sum < infinity_real() ? lost / sum : 0);
}

/* q / (1 + q) or 1 / (1 + q) with q = exp(-|x|), so that neither sum nor quotient leaves the range. */
INLINE real sigmoid_real(real x) {
    real q = exp_real(-abs_real(x));
    return (x < 0 ? q : 1) / (1 + q);
}

/* a^b as C's pow, except that NaN always gives NaN and 1 to an infinite power does. */
INLINE real pow_real(real a, real b) {
    bool negative = a < 0, fraction = floor_real(b) != b, odd = b - 2 * floor_real(b / 2) == 1;
    if (b == 0 && a == a) return 1;
    if (negative && fraction) return nan_real();
    real y = power_of_size(a, b);
    return negative && odd ? -y : y;
}
