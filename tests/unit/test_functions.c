/* kernels/cpu/functions.h, or with -DDEVICE kernels/cuda/functions.cu, compared with libm in long double.
 *
 * tests.mk compiles this file once for each tested level and element type (-DREAL_BYTES=4 or 8).
 * Errors are in ulps of `real`. An ulp is the distance of neighbouring numbers at the expected value.
 */
#include "support/lh_test.h"

#include <float.h>
#include <math.h>
#include <string.h>

#ifndef REAL_BYTES
#define REAL_BYTES 4
#endif
#if REAL_BYTES == 8
typedef double real;
#else
typedef float real;
#endif

#include "base/cpu_level.h"
#if defined(DEVICE)
#include "lh_device_functions.h"
#else
#include "kernels/cpu/functions.h"
#endif
#include "longhand/rng.h"

typedef vector function(vector);
typedef long double reference_function(long double);

enum { POINTS = 40000, DIGITS = REAL_BYTES == 8 ? DBL_MANT_DIG : FLT_MANT_DIG };
static const int LEAST_EXPONENT = REAL_BYTES == 8 ? DBL_MIN_EXP : FLT_MIN_EXP;
static const int MOST_EXPONENT = REAL_BYTES == 8 ? DBL_MAX_EXP : FLT_MAX_EXP;
static const real MAX_REAL = REAL_BYTES == 8 ? (real)DBL_MAX : (real)FLT_MAX;
static const real MIN_REAL = REAL_BYTES == 8 ? (real)DBL_MIN : (real)FLT_MIN; /* normal number */

static double compute_ulp(long double expected) {
    int exponent;
    frexpl(expected, &exponent);
    if (exponent < LEAST_EXPONENT) exponent = LEAST_EXPONENT;
    return ldexp(1, exponent - DIGITS);
}

static double draw_uniform(lh_rng *rng) { return (lh_rng_word(rng) + 0.5) * 0x1p-32; }

/* Returns point i of POINTS that are spread evenly over (low, high), with jitter. Every second point is multiplied by a
 * power of 2, at least 2^-24. */
static real draw_point(lh_rng *rng, int i, double low, double high) {
    double x = low + (high - low) * ((i + draw_uniform(rng)) / POINTS);
    return (real)(i % 2 ? ldexp(x, -(int)(25 * draw_uniform(rng))) : x);
}

/* Checks that no error over points of (low, high) is above `allowed`, in units of `absolute`, or in ulps if `absolute`
 * is 0. */
static void check_errors(const char *name, function *f, reference_function *expected, double low, double high,
                         double absolute, double allowed) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(1), 0, 0, 0);
    double worst_error = 0, worst_x = 0, worst_actual = 0;
    for (int i = 0; i < POINTS; i += LANES) {
        real x[LANES], y[LANES];
        for (int k = 0; k < LANES; k++) x[k] = draw_point(&rng, i + k, low, high);
        store(y, f(load(x)));
        for (int k = 0; k < LANES; k++) {
            long double right_y = expected(x[k]);
            double error = (double)(fabsl(y[k] - right_y) / (absolute > 0 ? absolute : compute_ulp(right_y)));
            if (error <= worst_error) continue;
            worst_error = error, worst_x = x[k], worst_actual = y[k];
            if (isnan(error)) break;
        }
    }
    if (worst_error <= allowed) return;
    fail_msg("%s in (%g, %g): error %g, at most %g; at %.17g got %.17g, expected %.17Lg", name, low, high, worst_error,
             allowed, worst_x, worst_actual, expected(worst_x));
}

static int is_nan_everywhere(vector x) {
    for (int k = 0; k < LANES; k++)
        if (!isnan(x[k])) return 0;
    return 1;
}

static int is_everywhere(vector x, real y) { /* the sign of 0 must match */
    for (int k = 0; k < LANES; k++)
        if (!(x[k] == y && !signbit(x[k]) == !signbit(y))) return 0;
    return 1;
}

/* apply: the value of a function whose argument is x in every lane. at2: the same for a function of x and y. */
#define apply(f, x) f(broadcast((real)(x)))
#define at2(f, x, y) f(broadcast((real)(x)), broadcast((real)(y)))

/* ---- exp, log ---- */

static void test_exp_is_within_1_1_ulp_in_its_whole_range(void **state) {
    double lowest = REAL_BYTES == 8 ? -708 : -86.9, highest = REAL_BYTES == 8 ? 709.7 : 88.72;
    check_errors("exp", exp_of, expl, lowest, highest, 0, 1.1);
    check_errors("exp", exp_of, expl, -1, 1, 0, 1.1);
}

static void test_exp_of_special_values_is_exact(void **state) {
    assert_true(is_everywhere(apply(exp_of, 0), 1) && is_everywhere(apply(exp_of, -0.0), 1));
    assert_true(is_everywhere(apply(exp_of, INFINITY), INFINITY) && is_everywhere(apply(exp_of, 710), INFINITY));
    assert_true(is_everywhere(apply(exp_of, MAX_REAL), INFINITY) && is_everywhere(apply(exp_of, -MAX_REAL), 0));
    assert_true(is_everywhere(apply(exp_of, -INFINITY), 0) && is_everywhere(apply(exp_of, -746), 0));
    assert_true(is_nan_everywhere(apply(exp_of, NAN)) && is_nan_everywhere(apply(exp_of, -NAN)));
    real lowest = REAL_BYTES == 8 ? (real)-707 : (real)-86.9;
    assert_true(exp_of(broadcast(lowest))[0] > 0);
    for (real x = -90; x < -86; x += (real)0.001) { /* around the end of the normal numbers */
        real y = exp_of(broadcast(x))[0];
        assert_true(y >= 0 && y <= (real)1.0001 * (real)expl(x));
    }
}

static void test_log_is_within_two_ulp_in_its_whole_range(void **state) {
    check_errors("log", log_of, logl, 0, 4, 0, 2);
    check_errors("log", log_of, logl, 0, 1e30, 0, 2);
    lh_rng rng = lh_rng_at(lh_key_of_seed(2), 0, 0, 0);
    for (int i = 0; i < POINTS; i++) { /* every exponent, subnormal numbers too */
        int exponent = LEAST_EXPONENT - DIGITS + i % (MOST_EXPONENT - LEAST_EXPONENT + DIGITS) + 1;
        real x = (real)ldexp(1 + draw_uniform(&rng), exponent - 1);
        long double actual = log_of(broadcast(x))[i % LANES], expected = logl(x);
        if (fabsl(actual - expected) > 2 * compute_ulp(expected))
            fail_msg("log(%.17g): got %.17Lg, expected %.17Lg", x, actual, expected);
    }
}

static void test_log_of_special_values_is_exact(void **state) {
    assert_true(is_everywhere(apply(log_of, 1), 0) && is_everywhere(apply(log_of, INFINITY), INFINITY));
    assert_true(is_everywhere(apply(log_of, 0), -INFINITY) && is_everywhere(apply(log_of, -0.0), -INFINITY));
    assert_true(is_nan_everywhere(apply(log_of, -1)) && is_nan_everywhere(apply(log_of, -INFINITY)));
    assert_true(is_nan_everywhere(apply(log_of, -MIN_REAL / 2)) && is_nan_everywhere(apply(log_of, NAN)));
}

static void test_log1p_is_within_two_ulp_in_its_whole_range(void **state) {
    check_errors("log1p", log1p_of, log1pl, -0.9999, 4, 0, 2);
    check_errors("log1p", log1p_of, log1pl, -1e-3, 1e-3, 0, 2);
    check_errors("log1p", log1p_of, log1pl, 0, 1e9, 0, 2);
    check_errors("log1p", log1p_of, log1pl, 0, 1e30, 0, 2);
}

static void test_log1p_of_special_values_is_exact(void **state) {
    assert_true(is_everywhere(apply(log1p_of, 0), 0) && is_everywhere(apply(log1p_of, MIN_REAL), MIN_REAL));
    assert_true(is_everywhere(apply(log1p_of, -1), -INFINITY) && is_everywhere(apply(log1p_of, INFINITY), INFINITY));
    assert_true(is_nan_everywhere(apply(log1p_of, -1.5)) && is_nan_everywhere(apply(log1p_of, NAN)));
    assert_true(fabsl(log1p_of(broadcast(MAX_REAL))[0] / logl(MAX_REAL) - 1) < 1e-6);
}

/* ---- tanh, sigmoid, erf, sqrt ---- */

static long double sigmoidl(long double x) { return 1 / (1 + expl(-x)); }

/* The largest measured error is 2.33 ulps. */
static void test_sigmoid_is_within_few_ulp_in_its_whole_range(void **state) {
    double max_x = REAL_BYTES == 8 ? 700 : 86;
    check_errors("sigmoid", sigmoid_of, sigmoidl, -max_x, max_x, 0, 2.4);
    check_errors("sigmoid", sigmoid_of, sigmoidl, -3, 3, 0, 2.4);
}

static void test_sigmoid_of_special_values_is_exact(void **state) {
    assert_true(is_everywhere(apply(sigmoid_of, 0), (real)0.5) && is_everywhere(apply(sigmoid_of, -0.0), (real)0.5));
    assert_true(is_everywhere(apply(sigmoid_of, 40), 1) && is_everywhere(apply(sigmoid_of, INFINITY), 1));
    assert_true(is_everywhere(apply(sigmoid_of, -800), 0) && is_everywhere(apply(sigmoid_of, -INFINITY), 0));
    assert_true(is_nan_everywhere(apply(sigmoid_of, NAN)));
}

/* Near 0 the errors of numerator, denominator and quotient add up. */
static void test_tanh_is_within_few_ulp_in_its_whole_range(void **state) {
    const double allowed = REAL_BYTES == 8 ? 3 : 2;
    check_errors("tanh", tanh_of, tanhl, -20, 20, 0, allowed);
    check_errors("tanh", tanh_of, tanhl, -1, 1, 0, allowed);
    check_errors("tanh", tanh_of, tanhl, -1e-3, 1e-3, 0, allowed);
}

static void test_tanh_is_odd_and_saturates(void **state) {
    assert_true(is_everywhere(apply(tanh_of, 0), 0) && is_everywhere(apply(tanh_of, -0.0), (real)-0.0));
    assert_true(is_everywhere(apply(tanh_of, 25), 1) && is_everywhere(apply(tanh_of, -25), -1));
    assert_true(is_everywhere(apply(tanh_of, INFINITY), 1) && is_everywhere(apply(tanh_of, -INFINITY), -1));
    assert_true(is_everywhere(apply(tanh_of, MIN_REAL), MIN_REAL) && is_nan_everywhere(apply(tanh_of, NAN)));
    for (real x = 0; x < 12; x += (real)0.003) assert_true(tanh_real(-x) == -tanh_real(x) && tanh_real(x) <= 1);
}

/* The largest measured error is 1.32 ulps for float and 2.5 for double. */
static void test_erf_is_within_few_ulp_in_its_whole_range(void **state) {
    const double allowed = REAL_BYTES == 8 ? 3 : 1.5;
    check_errors("erf", erf_of, erfl, -7, 7, 0, allowed);
    check_errors("erf", erf_of, erfl, -1.5, 1.5, 0, allowed);
    check_errors("erf", erf_of, erfl, 0.9, 1.3, 0, allowed);
    check_errors("erf", erf_of, erfl, -1e-3, 1e-3, 0, allowed);
}

/* The argument's square is rounded by half an ulp, the exponential by 1.5; the error grows with the square. */
static void test_erf_and_weight_gives_erf_and_the_exponential(void **state) {
    const double max_x = REAL_BYTES == 8 ? 26 : 9;
    for (int i = -300; i <= 300; i++) {
        vector x = broadcast((real)(max_x * i / 300)), weight, y = erf_and_weight(x, &weight);
        long double squared = (long double)x[0] * x[0], expected = expl(-squared);
        assert_true(y[0] == erf_of(x)[0]);
        assert_true(fabsl(weight[0] - expected) <= (4 + squared) * compute_ulp(1) * expected);
    }
    vector weight;
    erf_and_weight(broadcast(-MAX_REAL), &weight);
    assert_true(is_everywhere(weight, 0));
}

static void test_erf_is_odd_and_saturates(void **state) {
    const real slope = (real)1.12837916709551257390;
    assert_true(is_everywhere(apply(erf_of, 0), 0) && is_everywhere(apply(erf_of, -0.0), (real)-0.0));
    assert_true(is_everywhere(apply(erf_of, 6), 1) && is_everywhere(apply(erf_of, -25), -1));
    assert_true(is_everywhere(apply(erf_of, INFINITY), 1) && is_everywhere(apply(erf_of, -MAX_REAL), -1));
    assert_true(is_nan_everywhere(apply(erf_of, NAN)) && is_nan_everywhere(apply(erf_of, -NAN)));
    assert_true(fabs(erf_real(MIN_REAL) / (MIN_REAL * slope) - 1) < 4 * compute_ulp(1));
    for (real x = 0; x < 8; x += (real)0.003) assert_true(erf_real(-x) == -erf_real(x) && erf_real(x) <= 1);
}

static void test_sqrt_is_correctly_rounded(void **state) {
    check_errors("sqrt", sqrt_of, sqrtl, 0, 4, 0, 0.5001); /* libm's long double is rounded, too */
    check_errors("sqrt", sqrt_of, sqrtl, 0, 1e30, 0, 0.5001);
    assert_true(is_everywhere(apply(sqrt_of, 0), 0) && is_everywhere(apply(sqrt_of, INFINITY), INFINITY));
    assert_true(is_nan_everywhere(apply(sqrt_of, -1)) && is_nan_everywhere(apply(sqrt_of, NAN)));
}

/* ---- sin, cos ---- */

/* float: the reduced angle and the result are below 1, so each is rounded by at most 2^-25.
 * double: the bound of lh_sincos. */
static void test_sin_cos_of_positions_have_small_absolute_errors(void **state) {
    const double unit = REAL_BYTES == 8 ? 1e-15 : 0x1p-23, ranges[] = {1, 10, 1000, 1e5, 131072};
    for (int i = 0; i < 5; i++) {
        check_errors("sin", sin_of, sinl, -ranges[i], ranges[i], unit, 1);
        check_errors("cos", cos_of, cosl, -ranges[i], ranges[i], unit, 1);
    }
    for (int i = 0; i <= 131072; i++) { /* integer positions */
        double error = (double)(fabsl(sin_real((real)i) - sinl(i)) + fabsl(cos_real((real)-i) - cosl(i)));
        if (!(error <= 2 * unit)) fail_msg("sin and cos of %d: error %g", i, error);
    }
}

static void test_sin_cos_near_multiples_of_a_quarter_turn_are_accurate(void **state) {
    const double unit = REAL_BYTES == 8 ? 1e-15 : 0x1p-23;
    for (int n = -80000; n <= 80000; n++) {
        real x = (real)(n * 1.57079632679489661923), near_multiple = x + (n % 2 ? x : -x) * (real)1e-7;
        assert_true(fabsl(sin_real(x) - sinl(x)) <= unit && fabsl(cos_real(x) - cosl(x)) <= unit);
        assert_true(fabsl(sin_real(near_multiple) - sinl(near_multiple)) <= unit);
    }
}

static void test_sin_cos_of_special_values_are_exact(void **state) {
    assert_true(is_everywhere(apply(sin_of, 0), 0) && is_everywhere(apply(cos_of, 0), 1));
    assert_true(is_nan_everywhere(apply(sin_of, INFINITY)) && is_nan_everywhere(apply(cos_of, -INFINITY)));
    assert_true(is_nan_everywhere(apply(sin_of, 131073)) && is_nan_everywhere(apply(cos_of, -MAX_REAL)));
    assert_true(is_nan_everywhere(apply(sin_of, NAN)) && is_nan_everywhere(apply(cos_of, NAN)));
}

/* ---- pow ---- */

/* In double, the absolute error of b log a becomes the relative error of the result. */
static void test_pow_has_small_relative_errors(void **state) {
    const double allowed = REAL_BYTES == 8 ? 4e-13 : 7e-8, max_x = REAL_BYTES == 8 ? 1000 : 120;
    lh_rng rng = lh_rng_at(lh_key_of_seed(3), 0, 0, 0);
    for (int i = 0; i < POINTS; i++) {
        real a = (real)(i % 3 ? ldexp(1 + draw_uniform(&rng), (int)(40 * draw_uniform(&rng)) - 20)
                              : 0.5 + draw_uniform(&rng));
        real b = (real)((2 * draw_uniform(&rng) - 1) * max_x / fmax(fabs(log2(a)), 0.1));
        if (i % 5 == 0) b = (real)(4 * draw_uniform(&rng) - 2);
        long double actual = pow_of(broadcast(a), broadcast(b))[i % LANES], expected = powl(a, b);
        if (!(fabsl(actual - expected) <= allowed * expected))
            fail_msg("%.9g^%.9g: got %.17Lg, expected %.17Lg", a, b, actual, expected);
    }
}

/* The double's relative error is at most |b log a| ulps of 1, so at most 19. */
static void test_pow_with_integer_exponents_has_the_sign_of_libm(void **state) {
    const double allowed = REAL_BYTES == 8 ? 19 : 1;
    for (int b = -9; b <= 9; b++) {
        for (real a = -8; a <= 8; a++) {
            double actual = pow_real(a, (real)b), expected = pow(a, b);
            if (a == 0) expected = fabs(expected); /* the sign of 0^-1 is unspecified */
            assert_true(actual == expected || fabs(actual - expected) <= allowed * fabs(expected) * compute_ulp(1));
        }
    }
    assert_true(pow_real(-1, (real)0x1p24) == 1 && pow_real(-1, (real)-0x1p60) == 1);
}

static void test_pow_of_special_values_is_exact(void **state) {
    assert_true(is_everywhere(at2(pow_of, 0, 2.5), 0) && is_everywhere(at2(pow_of, 0, 0), 1));
    assert_true(is_everywhere(at2(pow_of, 0, -1.5), INFINITY) && is_everywhere(at2(pow_of, 2, INFINITY), INFINITY));
    assert_true(is_everywhere(at2(pow_of, INFINITY, 0.01), INFINITY) && is_everywhere(at2(pow_of, INFINITY, -1), 0));
    assert_true(is_everywhere(at2(pow_of, 10, 400), INFINITY) && is_everywhere(at2(pow_of, 10, -400), 0));
    assert_true(is_everywhere(at2(pow_of, -8, 0), 1) && is_nan_everywhere(at2(pow_of, -8, 1.0 / 3)));
    assert_true(is_nan_everywhere(at2(pow_of, NAN, 0)) && is_nan_everywhere(at2(pow_of, 1, NAN)));
}

/* ---- exact functions ---- */

static void test_floor_of_any_size_is_exact(void **state) {
    check_errors("floor", floor_of, floorl, -10, 10, 1, 0);
    check_errors("floor", floor_of, floorl, -2e7, 2e7, 1, 0);
    check_errors("floor", floor_of, floorl, -1e30, 1e30, 1, 0);
    for (int i = -100; i <= 100; i++) {
        assert_true(floor_real((real)i) == i && floor_real((real)(i + 0.5)) == i);
        assert_true(floor_real((real)i - (real)1e-5) == i - 1);
    }
    assert_true(is_everywhere(apply(floor_of, INFINITY), INFINITY) && is_nan_everywhere(apply(floor_of, NAN)));
    assert_true(is_everywhere(apply(floor_of, -MIN_REAL), -1) && is_everywhere(apply(floor_of, MAX_REAL), MAX_REAL));
}

static void test_abs_and_minimum_are_exact(void **state) {
    assert_true(is_everywhere(apply(abs_of, -2.5), (real)2.5) && is_everywhere(apply(abs_of, -0.0), 0));
    assert_true(is_everywhere(at2(minimum, -1, 2), -1) && is_everywhere(at2(minimum, 2, -1), -1));
    assert_true(is_nan_everywhere(at2(minimum, NAN, 1)) && is_nan_everywhere(at2(minimum, 1, NAN)));
    assert_true(minimum_real(3, 2) == 2 && maximum_real(3, 2) == 3 && abs_real(-3) == 3);
}

static void check_mod(int a, int n) {
    int expected = (a % n + n) % n;
    real actual = mod_real((real)a, (real)n);
    if (actual != expected) fail_msg("%d mod %d: got %.9g, expected %d", a, n, actual, expected);
}

static void test_mod_of_integers_is_exact(void **state) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(4), 0, 0, 0);
    for (int a = -300; a <= 300; a++)
        for (int n = 1; n <= 70; n++) check_mod(a, n);
    for (int i = 0; i < POINTS; i++) {
        int n = 1 + (int)(draw_uniform(&rng) * (i % 2 ? 1048575 : 1000)),
            a = (int)((draw_uniform(&rng) - 0.5) * 16777216);
        check_mod(a, n);
        int multiple = a / n * n;
        check_mod(multiple, n), check_mod(multiple - (a > 0), n), check_mod(multiple + (a < 0), n);
    }
    for (real a = -3; a < 3; a += (real)0.01) assert_true(mod_real(a, 1) >= 0 && mod_real(a, 1) < 1);
    assert_true(mod_real(-MIN_REAL, 5) == 0 && is_nan_everywhere(at2(mod_of, NAN, 5)));
}

#if defined(DEVICE)

/* exp_negative is 0 where the CPU's softmax is 0, and exp elsewhere. */
static vector exp_of_negative(vector x) { return broadcast(exp_negative(x[0])); }

static void test_exp_negative_is_within_two_ulp(void **state) {
    check_errors("exp_negative", exp_of_negative, expl, REAL_BYTES == 8 ? -708 : -87, 0, 0, 2);
    check_errors("exp_negative", exp_of_negative, expl, -1, 0, 0, 2);
    real end = REAL_BYTES == 8 ? -708 : -87;
    assert_true(exp_negative(0) == 1 && exp_negative(end) >= MIN_REAL && exp_negative(end * (real)1.0001) == 0);
    assert_true(exp_negative(-(real)INFINITY) == 0 && exp_negative(-MAX_REAL) == 0 && isnan(exp_negative((real)NAN)));
}

static void test_bucket_is_the_number_of_edges_up_to_the_value(void **state) {
    const real edges[] = {-2, 1, 4, (real)6.5};
    for (int x = -4; x < 9; x++)
        assert_true(bucket_real((real)x, 4, edges) == (x >= -2) + (x >= 1) + (x >= 4) + (x >= 7));
    assert_true(bucket_real((real)6.5, 4, edges) == 4 && bucket_real((real)NAN, 4, edges) == 0);
}

#else

static void test_masks_choose_lanes(void **state) {
    vector a = counting(0, 1), b = broadcast(1);
    vector lt = choose(less_than(a, b), b, -b), le = choose(at_most(a, b), b, -b), eq = choose(equals(a, b), b, -b);
    vector never = choose(both(less_than(a, b), equals(a, b)), b, -b);
    vector le_by_either = choose(either(less_than(a, b), equals(a, b)), b, -b),
           gt = choose(not_of(at_most(a, b)), b, -b);
    for (int k = 0; k < LANES; k++) {
        assert_true(lt[k] == (k < 1 ? 1 : -1) && le[k] == (k <= 1 ? 1 : -1) && eq[k] == (k == 1 ? 1 : -1));
        assert_true(never[k] == -1 && le_by_either[k] == le[k] && gt[k] == -le[k]);
    }
}

static void test_gather_and_scatter_add_run_in_lane_order(void **state) {
    enum { ROWS = 7 };
    real table[ROWS], sums[ROWS] = {0}, expected[ROWS] = {0};
    vector index, x = counting((real)1e4, (real)0.37);
    for (int i = 0; i < ROWS; i++) table[i] = (real)(10 * i);
    for (int k = 0; k < LANES; k++) {
        index[k] = (real)(k * 3 % ROWS % 3); /* some rows occur more than once */
        expected[k * 3 % ROWS % 3] += x[k];
    }
    vector read = gather(table, index);
    scatter_add(sums, index, x);
    for (int k = 0; k < LANES; k++) assert_true(read[k] == 10 * index[k]);
    assert_memory_equal(sums, expected, sizeof sums);
}

static void test_counting_starts_and_steps(void **state) {
    vector up = counting(5, 1), down = counting(-3, -2);
    for (int k = 0; k < LANES; k++) assert_true(up[k] == 5 + k && down[k] == -3 - 2 * k);
}

/* Returns first + k * step in lane k. `volatile` prevents constant folding and fused multiply-adds. */
static vector make_arguments(double first, double step) {
    volatile real x[LANES];
    for (int k = 0; k < LANES; k++) x[k] = (real)(first + k * step);
    vector y;
    for (int k = 0; k < LANES; k++) y[k] = x[k];
    return y;
}

/* Every lane has the bits of the scalar function, for any values in the other lanes. */
static void test_scalars_have_the_bits_of_lanes(void **state) {
    static const struct {
        function *compute;
        real (*scalar)(real);
    } pairs[] = {{exp_of, exp_real},   {log_of, log_real},         {log1p_of, log1p_real}, {sqrt_of, sqrt_real},
                 {tanh_of, tanh_real}, {sigmoid_of, sigmoid_real}, {erf_of, erf_real},     {sin_of, sin_real},
                 {cos_of, cos_real},   {abs_of, abs_real},         {floor_of, floor_real}};
    for (int step = 0; step < 50; step++) {
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
            vector x = make_arguments(0.013 * step, 0.71), y = pairs[i].compute(x);
            for (int k = 0; k < LANES; k++) assert_true(y[k] == pairs[i].scalar(x[k]));
        }
        vector a = make_arguments(0.3 + 0.01 * step, 0.71), b = make_arguments(-2, 0.37 + 0.1 * step);
        vector power = pow_of(a, b), remainder = mod_of(b, a);
        for (int k = 0; k < LANES; k++) {
            assert_true(power[k] == pow_real(a[k], b[k]) && remainder[k] == mod_real(b[k], a[k]));
        }
    }
}

#endif

static const struct CMUnitTest TESTS[] = {
    cmocka_unit_test(test_exp_is_within_1_1_ulp_in_its_whole_range),
    cmocka_unit_test(test_exp_of_special_values_is_exact),
    cmocka_unit_test(test_log_is_within_two_ulp_in_its_whole_range),
    cmocka_unit_test(test_log_of_special_values_is_exact),
    cmocka_unit_test(test_log1p_is_within_two_ulp_in_its_whole_range),
    cmocka_unit_test(test_log1p_of_special_values_is_exact),
    cmocka_unit_test(test_sigmoid_is_within_few_ulp_in_its_whole_range),
    cmocka_unit_test(test_sigmoid_of_special_values_is_exact),
    cmocka_unit_test(test_tanh_is_within_few_ulp_in_its_whole_range),
    cmocka_unit_test(test_tanh_is_odd_and_saturates),
    cmocka_unit_test(test_erf_is_within_few_ulp_in_its_whole_range),
    cmocka_unit_test(test_erf_and_weight_gives_erf_and_the_exponential),
    cmocka_unit_test(test_erf_is_odd_and_saturates),
    cmocka_unit_test(test_sqrt_is_correctly_rounded),
    cmocka_unit_test(test_sin_cos_of_positions_have_small_absolute_errors),
    cmocka_unit_test(test_sin_cos_near_multiples_of_a_quarter_turn_are_accurate),
    cmocka_unit_test(test_sin_cos_of_special_values_are_exact),
    cmocka_unit_test(test_pow_has_small_relative_errors),
    cmocka_unit_test(test_pow_with_integer_exponents_has_the_sign_of_libm),
    cmocka_unit_test(test_pow_of_special_values_is_exact),
    cmocka_unit_test(test_floor_of_any_size_is_exact),
    cmocka_unit_test(test_abs_and_minimum_are_exact),
    cmocka_unit_test(test_mod_of_integers_is_exact),
#if defined(DEVICE)
    cmocka_unit_test(test_exp_negative_is_within_two_ulp),
    cmocka_unit_test(test_bucket_is_the_number_of_edges_up_to_the_value),
#else
    cmocka_unit_test(test_masks_choose_lanes),
    cmocka_unit_test(test_gather_and_scatter_add_run_in_lane_order),
    cmocka_unit_test(test_counting_starts_and_steps),
    cmocka_unit_test(test_scalars_have_the_bits_of_lanes),
#endif
};

#if defined(DEVICE)
#define GROUP_NAME "device functions "
#else
#define GROUP_NAME "functions "
#endif

int main(void) {
    if (!lh_level_is_supported(LH_LEVEL_NAME)) {
        print_message("functions: skipped, this machine does not run %s\n", LH_LEVEL_NAME);
        return 0;
    }
    return cmocka_run_group_tests_name(
        REAL_BYTES == 8 ? GROUP_NAME LH_LEVEL_NAME " float64" : GROUP_NAME LH_LEVEL_NAME " float32", TESTS, NULL, NULL);
}
