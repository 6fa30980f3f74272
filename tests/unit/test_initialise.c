/* data/initialise.h: the counter of every element, the distributions, and elements that no tensor covers. */
#include "lh_test.h"

#include <math.h>
#include <string.h>

#include "data/initialise.h"
#include "longhand/math.h"
#include "toy_spec.h"

/* Three tensors with COUNT values each. A row of memory consists of one row of each tensor. */
enum { ROWS = 500, COLUMNS = 100, COUNT = ROWS * COLUMNS, STRIDE = 3 * COLUMNS };

/* Fields: name, rank, shape, offset, stride, kind of initial values, deviation or bound, learned. */
static const lh_tensor large_tensors[] = {
    {"normal", 2, {ROWS, COLUMNS}, 0, STRIDE, LH_INIT_NORMAL, 0.5, true},
    {"cut", 2, {ROWS, COLUMNS}, COLUMNS, STRIDE, LH_INIT_TRUNCATED_NORMAL, 0.5, true},
    {"uniform", 2, {ROWS, COLUMNS}, 2 * COLUMNS, STRIDE, LH_INIT_UNIFORM, 0.3, true},
};

/* Returns the initial values of a tensor of large_tensors. */
static const double *initialise_large(int tensor) {
    static double vector[3 * COUNT], values[COUNT];
    lh_spec spec = lh_toy_spec;
    spec.tensors = large_tensors;
    spec.tensor_count = 3;
    spec.parameter_storage = 3 * COUNT;
    lh_initialise(&spec, 1, 8, vector);
    for (int i = 0; i < COUNT; i++) values[i] = vector[i / COLUMNS * STRIDE + i % COLUMNS + tensor * COLUMNS];
    return values;
}

/* Computes mean, standard deviation and kurtosis; for 50,000 values their standard errors are below 0.005, 0.004 and
 * 0.03. */
static void compute_moments(const double *x, double result[3]) {
    double mean = 0, second = 0, fourth = 0;
    for (int i = 0; i < COUNT; i++) mean += x[i] / COUNT;
    for (int i = 0; i < COUNT; i++) second += (x[i] - mean) * (x[i] - mean) / COUNT;
    for (int i = 0; i < COUNT; i++) fourth += pow(x[i] - mean, 4) / COUNT;
    result[0] = mean;
    result[1] = sqrt(second);
    result[2] = fourth / (second * second);
}

static void test_normal_values_have_their_moments(void **state) {
    double actual[3], expected[3] = {0, 0.5, 3};
    compute_moments(initialise_large(0), actual);
    lh_assert_close(actual, expected, 2, 0, 0.01);
    lh_assert_close(actual + 2, expected + 2, 1, 0, 0.1);
}

/* Normal values truncated at 2 sd and not rescaled: the deviation is 0.8796 of sd, and the kurtosis 2.37. */
static void test_truncated_normal_values_have_their_moments(void **state) {
    double actual[3], expected[3] = {0, 0.5 * 0.87962566, 2.3654};
    const double *values = initialise_large(1);
    compute_moments(values, actual);
    lh_assert_close(actual, expected, 2, 0, 0.01);
    lh_assert_close(actual + 2, expected + 2, 1, 0, 0.05);
    double max_value = 0;
    for (int i = 0; i < COUNT; i++) max_value = fmax(max_value, fabs(values[i]));
    assert_true(max_value <= 1.0 && max_value > 0.999);
}

/* Kolmogorov's distance to the exact distribution; 1.95 / sqrt(count) is its 99.9% point. */
static void test_truncated_normal_values_have_their_distribution(void **state) {
    enum { BINS = 200 };
    static long count_below[BINS + 1];
    const double *values = initialise_large(1);
    double low = lh_normal_cumulative(-2), max_distance = 0;
    memset(count_below, 0, sizeof count_below);
    for (int i = 0; i < COUNT; i++)
        for (int b = 0; b <= BINS; b++) count_below[b] += values[i] <= -1 + b * 0.01;
    for (int b = 0; b <= BINS; b++) {
        double exact = (lh_normal_cumulative((-1 + b * 0.01) / 0.5) - low) / (1 - 2 * low);
        max_distance = fmax(max_distance, fabs((double)count_below[b] / COUNT - exact));
    }
    assert_true(max_distance < 1.95 / sqrt(COUNT));
}

/* Uniform values on [-b, b): the deviation is b / sqrt(3), the kurtosis 1.8, and values reach both ends. */
static void test_uniform_values_have_their_moments(void **state) {
    double actual[3], expected[3] = {0, 0.3 / sqrt(3), 1.8}, min_value = 1, max_value = -1;
    const double *values = initialise_large(2);
    compute_moments(values, actual);
    lh_assert_close(actual, expected, 2, 0, 0.005);
    lh_assert_close(actual + 2, expected + 2, 1, 0, 0.02);
    for (int i = 0; i < COUNT; i++) {
        min_value = fmin(min_value, values[i]);
        max_value = fmax(max_value, values[i]);
    }
    assert_true(min_value >= -0.3 && min_value < -0.2999 && max_value < 0.3 && max_value > 0.2999);
}

/* A value is (2 k / 2^24 - 1) times the bound, where k is the 24 highest bits of the word. The largest value as
 * a float is below the bound. */
static void test_uniform_values_have_the_documented_bits(void **state) {
    enum { SAMPLES = 4096 };
    static float narrow[SAMPLES];
    static double wide[SAMPLES];
    const lh_tensor tensor = {"uniform", 1, {SAMPLES, 0}, 0, SAMPLES, LH_INIT_UNIFORM, 0.1, true};
    lh_spec spec = lh_toy_spec;
    spec.tensors = &tensor;
    spec.tensor_count = 1;
    spec.parameter_storage = SAMPLES;
    lh_initialise(&spec, 77, 8, wide);
    lh_initialise(&spec, 77, 4, narrow);
    for (int e = 0; e < SAMPLES; e++) {
        uint32_t counter[4] = {(uint32_t)e / 4, lh_site(LH_DOMAIN_INIT, 0, 0), 0, 0}, out[4];
        lh_philox(counter, lh_key_of_seed(77), out);
        assert_true(wide[e] == 0.1 * ((double)(out[e % 4] >> 8) / 8388608.0 - 1.0));
        assert_true(narrow[e] == (float)wide[e]);
    }
    assert_true((float)(0.1 * (double)(0xffffff / 8388608.0 - 1.0)) < 0.1f);
}

/* Element e of tensor t is word e % 4 of block e / 4 at example t. The toy's tensor `key` has rows of 4
 * elements, which begin at the elements 292, 304, ... of the storage. */
static void test_values_have_the_documented_counter(void **state) {
    static double actual[TOY_STORAGE];
    lh_initialise(&lh_toy_spec, 77, 8, actual);
    for (int e = 0; e < 16; e++) {
        uint32_t counter[4] = {(uint32_t)e / 4, lh_site(LH_DOMAIN_INIT, 0, 0), TOY_KEY, 0}, out[4];
        lh_philox(counter, lh_key_of_seed(77), out);
        double low = lh_normal_cumulative(-2), u = (out[e % 4] + 0.5) / 4294967296.0;
        double expected = 0.5 * lh_normal_quantile(low + u * (1 - 2 * low));
        assert_true(actual[292 + e / 4 * 12 + e % 4] == expected);
    }
}

static void test_constants_are_set_and_gaps_are_zero(void **state) {
    static float actual[TOY_STORAGE];
    memset(actual, 0xff, sizeof actual);
    lh_initialise(&lh_toy_spec, 1, 4, actual);
    for (int i = 0; i < 4; i++) assert_true(actual[lh_toy_spec.tensors[TOY_SCALE].offset + i] == 1.0f);
    for (int i = 0; i < 5; i++) assert_true(actual[lh_toy_spec.tensors[TOY_BIAS].offset + i] == 0.0f);
    for (int i = 28; i < 32; i++) assert_true(actual[i] == 0.0f);     /* between two tensors */
    for (int i = 336; i < 352; i++) assert_true(actual[i] == 0.0f);   /* after the rows of query, key and value */
    for (int i = 4085; i < 4088; i++) assert_true(actual[i] == 0.0f); /* between two rows */
    for (int i = 4117; i < TOY_STORAGE; i++) assert_true(actual[i] == 0.0f); /* after the bias */
}

static void test_float_values_are_rounded_doubles(void **state) {
    static float narrow[TOY_STORAGE];
    static double wide[TOY_STORAGE];
    lh_initialise(&lh_toy_spec, 1, 4, narrow);
    lh_initialise(&lh_toy_spec, 1, 8, wide);
    for (int i = 0; i < TOY_STORAGE; i++) assert_true(narrow[i] == (float)wide[i]);
}

static void test_values_depend_on_seed_and_tensor(void **state) {
    static double first[TOY_STORAGE], second[TOY_STORAGE];
    lh_initialise(&lh_toy_spec, 1, 8, first);
    lh_initialise(&lh_toy_spec, 1ull << 32 | 1, 8, second);
    assert_true(first[0] != second[0]);
    assert_true(first[288] != first[292] && first[288] != first[0]); /* query, key, token */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal_values_have_their_moments),
        cmocka_unit_test(test_truncated_normal_values_have_their_moments),
        cmocka_unit_test(test_truncated_normal_values_have_their_distribution),
        cmocka_unit_test(test_uniform_values_have_their_moments),
        cmocka_unit_test(test_uniform_values_have_the_documented_bits),
        cmocka_unit_test(test_values_have_the_documented_counter),
        cmocka_unit_test(test_constants_are_set_and_gaps_are_zero),
        cmocka_unit_test(test_float_values_are_rounded_doubles),
        cmocka_unit_test(test_values_depend_on_seed_and_tensor),
    };
    return cmocka_run_group_tests_name("initialise", tests, NULL, NULL);
}
