/* Elementary functions that are the same in both precisions. NaN in any argument gives NaN, except that maximum_real
 * ignores NaN in a, and bucket_real of NaN is 0. */

INLINE real minimum_real(real a, real b) { return a < b || a != a ? a : b; }
INLINE real maximum_real(real a, real b) { return a > b ? a : b; }

/* The number of edges that are at most x; edges ascend. */
INLINE real bucket_real(real x, int count, const real *edge) {
    int sum = 0;
    for (int e = 0; e < count; e++) sum += edge[e] <= x;
    return (real)sum;
}

/* sine_after(x, n) = sin(x + n pi/2) */
INLINE real sin_real(real x) { return sine_after(x, 0); }
INLINE real cos_real(real x) { return sine_after(x, 1); }

/* a - n floor(a / n), n > 0: exact for integers |a| < 2^23, n < 2^20. For other numbers, if a / n is close to an
 * integer, the result may lie at the wrong end of [0, n). */
INLINE real mod_real(real a, real n) {
    real rest = a - n * floor_real(a / n);
    return rest < 0 || rest >= n ? 0 : rest;
}

/* log(1 + x). The first term of the series of log corrects the rounding error `lost` of 1 + x. */
INLINE real log1p_real(real x) {
    real sum = 1 + x, lost = x - (sum - 1);
    return log_real(sum) + (sum > 0 && sum < infinity_real() ? lost / sum : 0);
}

/* 1 / (1 + exp(-x)), computed as q / (1 + q) or 1 / (1 + q) with q = exp(-|x|), so neither sum nor quotient
 * overflows. */
INLINE real sigmoid_real(real x) {
    real q = exp_real(-abs_real(x));
    return (x < 0 ? q : 1) / (1 + q);
}

/* log(1 / (1 + exp(-x))); does not overflow. */
INLINE real log_sigmoid_real(real x) { return minimum_real(x, 0) - log1p_real(exp_real(-abs_real(x))); }

/* erf(x); 1 from x = 4 (float32) or x = 6 (float64) on. */
INLINE real erf_real(real x) {
    real weight;
    return erf_and_weight(x, &weight);
}

/* a^b as C's pow computes it, but NaN for NaN arguments and for 1 or -1 to an infinite power; a = -0 counts as 0.
 * power_of_size computes |a|^b. */
INLINE real pow_real(real a, real b) {
    bool negative = a < 0, fraction = floor_real(b) != b, odd = b - 2 * floor_real(b / 2) == 1;
    if (b == 0 && a == a) return 1;
    if (negative && fraction) return nan_real();
    real y = power_of_size(a, b);
    return negative && odd ? -y : y;
}
