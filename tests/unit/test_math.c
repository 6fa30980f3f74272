/* longhand/math.h compared with libm in long double, and with fixed bits. */
#include "lh_test.h"

#include <math.h>
#include <string.h>

#include "longhand/math.h"
#include "longhand/rng.h"

enum { POINTS = 20000 };

/* Returns point i of POINTS fixed points that are spread evenly over (low, high), with jitter. */
static double draw_point(int i, double low, double high) {
    uint32_t counter[4] = {(uint32_t)i, 0, 0, 0}, out[4];
    lh_philox(counter, lh_key_of_seed(1), out);
    return low + (high - low) * ((i + out[0] * 0x1p-32) / POINTS);
}

/* The error of `actual` in ulps. An ulp is the distance between two neighbouring doubles near the expected value. */
static double count_ulps(double actual, long double expected) {
    int exponent;
    frexpl(expected, &exponent);
    return (double)(fabsl(actual - expected) / ldexpl(1, exponent - 53));
}

static void test_exp_is_within_one_ulp_in_its_whole_range(void **state) {
    for (int i = 0; i < POINTS; i++) {
        double x_wide = draw_point(i, -700, 700), x_narrow = draw_point(i, -1, 1);
        assert_true(count_ulps(lh_exp(x_wide), expl(x_wide)) < 1);
        assert_true(count_ulps(lh_exp(x_narrow), expl(x_narrow)) < 1);
    }
}

static void test_exp_of_special_values_is_exact(void **state) {
    assert_true(lh_exp(0) == 1.0);
    assert_true(lh_exp(710) == INFINITY && lh_exp(INFINITY) == INFINITY);
    assert_true(lh_exp(-746) == 0.0 && lh_exp(-INFINITY) == 0.0);
    assert_true(lh_exp(-745) > 0.0);
    assert_true(isnan(lh_exp(NAN)));
}

static void test_log_is_within_one_ulp_in_its_whole_range(void **state) {
    for (int i = 0; i < POINTS; i++) {
        double x_near_1 = draw_point(i, 0.5, 2), x_wide = ldexp(draw_point(i, 1, 2), i % 2000 - 1000);
        if (x_near_1 != 1.0) assert_true(count_ulps(lh_log(x_near_1), logl(x_near_1)) < 1);
        assert_true(count_ulps(lh_log(x_wide), logl(x_wide)) < 1);
    }
}

static void test_log_of_special_values_is_exact(void **state) {
    assert_true(lh_log(1) == 0.0);
    assert_true(lh_log(0) == -INFINITY && lh_log(INFINITY) == INFINITY);
    assert_true(isnan(lh_log(-1)) && isnan(lh_log(NAN)));
    assert_true(count_ulps(lh_log(0x1p-1074), logl(0x1p-1074L)) < 1);
}

static void test_sincos_is_within_its_bound_in_its_whole_range(void **state) {
    for (int i = 0; i < POINTS; i++) {
        double x[2] = {draw_point(i, -0x1p20, 0x1p20), draw_point(i, -8, 8)};
        for (int k = 0; k < 2; k++) {
            double sine, cosine;
            lh_sincos(x[k], &sine, &cosine);
            assert_true(fabsl(sine - sinl(x[k])) < 1e-15L);
            assert_true(fabsl(cosine - cosl(x[k])) < 1e-15L);
        }
    }
}

static void test_sincos_of_zero_is_exact(void **state) {
    double sine, cosine;
    lh_sincos(0, &sine, &cosine);
    assert_true(sine == 0.0 && cosine == 1.0);
}

static void test_power_of_small_integers_is_exact(void **state) {
    assert_true(lh_power(7.5, 0) == 1.0);
    assert_true(lh_power(-3, 5) == -243.0);
    assert_true(lh_power(2, 1000) == 0x1p1000);
    assert_true(lh_power(0.999, 1000000) < 1e-300 && lh_power(0.5, INT64_MAX) == 0.0);
}

/* One Newton step in long double gives the error of the quantile. */
static void test_normal_quantile_inverts_the_distribution(void **state) {
    for (int i = 0; i < POINTS; i++) {
        double p[2] = {draw_point(i, 0, 1), exp(draw_point(i, -50, -1))};
        for (int k = 0; k < 2; k++) {
            double x = lh_normal_quantile(p[k]);
            long double density = expl(-(long double)x * x / 2) / sqrtl(8 * atanl(1));
            long double error = (erfcl(-x / sqrtl(2)) / 2 - p[k]) / density;
            assert_true(fabsl(error) < 1e-15L * fabsl(x) + 1e-18L);
        }
    }
}

static void test_normal_quantile_is_symmetric(void **state) {
    assert_true(lh_normal_quantile(0.5) == 0.0);
    for (int i = 1; i < 1024; i++) assert_true(lh_normal_quantile(i * 0x1p-10) == -lh_normal_quantile(1 - i * 0x1p-10));
}

static void test_normal_cumulative_is_within_its_bound_in_its_whole_range(void **state) {
    for (int i = 0; i < POINTS; i++) {
        double x = draw_point(i, -8, 8);
        assert_true(fabsl(lh_normal_cumulative(x) - erfcl(-x / sqrtl(2)) / 2) < 1e-15L);
    }
    assert_true(lh_normal_cumulative(0) == 0.5);
}

static void mix(uint64_t *hash, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    *hash = (*hash ^ bits) * 0x100000001b3u;
}

/* All compilers give the same bits at every level and optimisation, so the hash of the results is a constant. */
static void test_all_functions_have_the_recorded_bits(void **state) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 1; i < 10000; i++) {
        double sine, cosine;
        lh_sincos(i * 0.25, &sine, &cosine);
        mix(&hash, lh_exp((i - 5000) * 0.125));
        mix(&hash, lh_log(i * 0.0625));
        mix(&hash, sine);
        mix(&hash, cosine);
        mix(&hash, lh_power(1 - i * 0x1p-20, i));
        mix(&hash, lh_normal_quantile(i * 0x1p-14));
        mix(&hash, lh_normal_cumulative((i - 5000) * 0x1p-10));
    }
    assert_true(hash == 0x2da5f43cd6f32421u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp_is_within_one_ulp_in_its_whole_range),
        cmocka_unit_test(test_exp_of_special_values_is_exact),
        cmocka_unit_test(test_log_is_within_one_ulp_in_its_whole_range),
        cmocka_unit_test(test_log_of_special_values_is_exact),
        cmocka_unit_test(test_sincos_is_within_its_bound_in_its_whole_range),
        cmocka_unit_test(test_sincos_of_zero_is_exact),
        cmocka_unit_test(test_power_of_small_integers_is_exact),
        cmocka_unit_test(test_normal_quantile_inverts_the_distribution),
        cmocka_unit_test(test_normal_quantile_is_symmetric),
        cmocka_unit_test(test_normal_cumulative_is_within_its_bound_in_its_whole_range),
        cmocka_unit_test(test_all_functions_have_the_recorded_bits),
    };
    return cmocka_run_group_tests_name("math", tests, NULL, NULL);
}
