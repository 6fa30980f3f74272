/* kernels/ref/score.c: published values and closed forms found in another way. */
#include "support/lh_test.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/ref/ref.h"

static const double EXACT = 1e-14; /* a handful of operations in double */

static void check_value(double actual, double expected) { lh_assert_close(&actual, &expected, 1, EXACT, EXACT); }

static lh_ref_pair make_pair(int head, int heads, int query, int key) { return (lh_ref_pair){head, heads, query, key}; }

/* The rows of Ruoss's code, T = 4, head 0 of 8; head 7 has 2^-7 of head 0's slope. */
static void test_alibi_half_step_of_four_tokens_has_published_values(void **state) {
    static const double expected[4][4] = {
        {0, -0.5, -1, -1.5}, {-0.25, 0, -0.5, -1}, {-0.75, -0.25, 0, -0.5}, {-1.25, -0.75, -0.25, 0}};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            check_value(lh_ref_alibi_half_step(make_pair(0, 8, i, j)), expected[i][j]);
            check_value(lh_ref_alibi_half_step(make_pair(7, 8, i, j)), expected[i][j] / 128);
        }
    }
}

static void test_alibi_is_the_same_on_both_sides(void **state) {
    check_value(lh_ref_alibi(make_pair(2, 8, 9, 4)), -5.0 / 8);
    check_value(lh_ref_alibi(make_pair(2, 8, 4, 9)), -5.0 / 8);
    check_value(lh_ref_alibi(make_pair(0, 1, 1000, 0)), -1000.0 / 256);
}

static void test_alibi_slopes_of_powers_of_two_halve_regularly(void **state) {
    for (int head = 0; head < 8; head++) check_value(lh_ref_alibi_slope(head, 8), ldexp(1, -(head + 1)));
    for (int head = 0; head < 16; head++) check_value(lh_ref_alibi_slope(head, 16), sqrt(ldexp(1, -(head + 1))));
    check_value(lh_ref_alibi_slope(0, 2), 0.0625);
}

static void test_alibi_slopes_of_other_heads_take_every_other_of_twice_as_many(void **state) {
    for (int head = 0; head < 8; head++) check_value(lh_ref_alibi_slope(head, 12), ldexp(1, -(head + 1)));
    for (int extra = 0; extra < 4; extra++) {
        check_value(lh_ref_alibi_slope(8 + extra, 12), M_SQRT1_2 * ldexp(1, -extra));
    }
    static const double six[] = {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125};
    for (int head = 0; head < 6; head++) check_value(lh_ref_alibi_slope(head, 6), six[head]);
}

/* With 16 buckets per side, 8 of them exact, the edges are at 8 sqrt(2)^k. The test finds the bucket without a
 * logarithm: it is 8 + k for the largest k with n^2 >= 64 2^k. */
static int find_bucket(int n) {
    if (n < 8) return n;
    int k = 0;
    while (k < 7 && (long)n * n >= 64L << (k + 1)) k++;
    return 8 + k;
}

static void test_t5_buckets_have_every_integer_edge(void **state) {
    for (int n = 0; n <= 300; n++) {
        assert_int_equal(lh_ref_t5_bucket(make_pair(0, 8, 300, 300 - n), 32, 128), find_bucket(n));
        if (n > 0) assert_int_equal(lh_ref_t5_bucket(make_pair(0, 8, 0, n), 32, 128), 16 + find_bucket(n));
    }
    static const int edges[] = {8, 12, 16, 23, 32, 46, 64, 91};
    for (int k = 0; k < 8; k++) {
        assert_int_equal(lh_ref_t5_bucket(make_pair(0, 8, edges[k], 0), 32, 128), 8 + k);
        assert_int_equal(lh_ref_t5_bucket(make_pair(0, 8, edges[k] - 1, 0), 32, 128), 7 + k);
    }
}

static void test_kerple_has_known_values(void **state) {
    check_value(lh_ref_kerple_log(make_pair(0, 8, 7, 0), 0.5, 1), -1.5 * M_LN2);
    check_value(lh_ref_kerple_log(make_pair(0, 8, 0, 7), 0.5, 1), -1.5 * M_LN2);
    check_value(lh_ref_kerple_log(make_pair(0, 8, 5, 5), 2, 3), 0);
    check_value(lh_ref_kerple_power(make_pair(0, 8, 3, 12), 2, 1.5), -54);
    check_value(lh_ref_kerple_power(make_pair(0, 8, 12, 3), 2, 0.5), -6);
    check_value(lh_ref_kerple_power(make_pair(0, 8, 4, 4), 2, 0.5), 0);
}

/* c = 1, threshold 3, distances 0, 1, 7: psi(d) = log(d + 1) is a multiple of log 2, and log 2 cancels. */
static void test_fire_network_has_values_computed_by_hand(void **state) {
    static const double in[] = {1, -1, 2}, in_offset[] = {0, 0.5, -1};
    static const double out[] = {1, 10, 100, 1000, 3, 30}, out_offset[] = {0.25, -0.25};
    const lh_ref_fire_parameters p = {.c = 1,
                                      .threshold = 3,
                                      .width = 3,
                                      .input_weight = in,
                                      .input_offset = in_offset,
                                      .output_weight = out,
                                      .output_offset = out_offset};
    /* distance 1: x = log 2 / log 4 = 1/2; hidden units 1/2, 0, 0 */
    check_value(lh_ref_fire(make_pair(0, 2, 1, 0), &p), 0.5 + 0.25);
    check_value(lh_ref_fire(make_pair(1, 2, 1, 0), &p), 5 - 0.25);
    /* distance 7, past the threshold: x = log 8 / log 8 = 1; hidden units 1, 0, 1 */
    check_value(lh_ref_fire(make_pair(0, 2, 7, 0), &p), 1 + 3 + 0.25);
    check_value(lh_ref_fire(make_pair(1, 2, 7, 0), &p), 10 + 30 - 0.25);
    /* the diagonal: x = 0; hidden units 0, 1/2, 0 */
    check_value(lh_ref_fire(make_pair(0, 2, 20, 20), &p), 50 + 0.25);
    /* a key after its query: x = log 8 / log 4 = 3/2; hidden units 3/2, 0, 2 */
    check_value(lh_ref_fire(make_pair(0, 2, 2, 9), &p), 1.5 + 6 + 0.25);
}

/* The inner product of the sinusoids of i and j is the sum of lh_ref_sandwich over m = 0 .. width/2 - 1, not over
 * m = 1 .. width/2. */
static void test_sandwich_is_product_of_sinusoids(void **state) {
    enum { WIDTH = 64 };
    double a[WIDTH], b[WIDTH];
    for (int i = 0; i < 400; i += 37) {
        for (int j = 0; j < 400; j += 29) {
            lh_ref_sinusoid(WIDTH, i, a);
            lh_ref_sinusoid(WIDTH, j, b);
            double product = cos((i - j) / 10000.0) - cos(i - j);
            for (int m = 0; m < WIDTH; m++) product += a[m] * b[m];
            double actual = lh_ref_sandwich(make_pair(0, 8, i, j), WIDTH);
            /* 64 terms; each angle, up to 400, has an error of 3e-14 */
            lh_assert_close(&actual, &product, 1, 0, 1e-11);
        }
    }
}

static void test_sandwich_by_head_falls_from_zero_more_slowly_in_later_heads(void **state) {
    check_value(lh_ref_sandwich(make_pair(0, 8, 5, 5), 128), 64);
    check_value(lh_ref_sandwich_by_head(make_pair(3, 8, 5, 5), 128), 0);
    for (int head = 0; head < 8; head++) {
        double expected = (lh_ref_sandwich(make_pair(0, 8, 0, 30), 128) - 64) / (head + 1);
        check_value(lh_ref_sandwich_by_head(make_pair(head, 8, 0, 30), 128), expected);
        check_value(lh_ref_sandwich_by_head(make_pair(head, 16, 0, 30), 128), 2 * expected);
        assert_true(expected < 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alibi_half_step_of_four_tokens_has_published_values),
        cmocka_unit_test(test_alibi_is_the_same_on_both_sides),
        cmocka_unit_test(test_alibi_slopes_of_powers_of_two_halve_regularly),
        cmocka_unit_test(test_alibi_slopes_of_other_heads_take_every_other_of_twice_as_many),
        cmocka_unit_test(test_t5_buckets_have_every_integer_edge),
        cmocka_unit_test(test_kerple_has_known_values),
        cmocka_unit_test(test_fire_network_has_values_computed_by_hand),
        cmocka_unit_test(test_sandwich_is_product_of_sinusoids),
        cmocka_unit_test(test_sandwich_by_head_falls_from_zero_more_slowly_in_later_heads),
    };
    return cmocka_run_group_tests_name("score", tests, NULL, NULL);
}
