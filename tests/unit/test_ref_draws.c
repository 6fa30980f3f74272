/* kernels/ref, random numbers of a pass: dropout and noise, their words and their distributions. */
#include "lh_test.h"

#include <math.h>

#include "data/start_noise.h"
#include "kernels/ref/ref.h"
#include "lh_differences.h"

/* ---- dropout ---- */

static lh_ref_dropout make_dropout(double rate) {
    return (lh_ref_dropout){.key = lh_key_of_seed(0x123456789abcdefULL),
                            .step = 42,
                            .site = lh_site(LH_DOMAIN_DROPOUT, 3, 1),
                            .rate = rate};
}

static void test_dropout_bits_come_from_halves_low_first(void **state) {
    const lh_ref_dropout site = make_dropout(0.5);
    const uint32_t counter[4] = {2, site.site, 9, 42}; /* elements 16 to 23 of example 9 */
    uint32_t word[4];
    lh_philox(counter, site.key, word);
    for (uint32_t e = 0; e < 8; e++) {
        uint32_t bits = e % 2 ? word[e / 2] >> 16 : word[e / 2] & 0xffff;
        assert_int_equal(lh_ref_dropout_keeps(&site, 9, 16 + e), bits >= 32768);
    }
}

static void test_dropout_kept_share_is_near_one_minus_rate(void **state) {
    const lh_ref_dropout site = make_dropout(0.1);
    int kept_count = 0, count = 100000;
    for (int e = 0; e < count; e++) kept_count += lh_ref_dropout_keeps(&site, 0, (uint32_t)e);
    assert_true(fabs(kept_count / (double)count - 0.9) < 5 * sqrt(0.09 / count)); /* five standard deviations */
}

/* The weight of head h, query i and key j is element (h * T + i) * S + j. Elements of neighbouring heads, queries
 * and keys must be kept independently. So must the same element in another sequence, step, layer or place. */
static void test_dropout_of_weights_is_independent_over_heads_queries_and_keys(void **state) {
    enum { HEADS = 8, QUERIES = 40, KEYS = 56, COUNT = HEADS * QUERIES * KEYS };
    const lh_ref_dropout site = make_dropout(0.3);
    lh_ref_dropout other_step = site, other_layer = site, other_place = site;
    other_step.step++;
    other_layer.site = lh_site(LH_DOMAIN_DROPOUT, 4, 1);
    other_place.site = lh_site(LH_DOMAIN_DROPOUT, 3, 0);
    const uint32_t offset[] = {1, KEYS, QUERIES * KEYS, 2, 8, KEYS + 1};
    enum { OFFSETS = sizeof offset / sizeof *offset, OTHER_SITES = 4 /* sequence, step, layer, place */ };
    double kept_count = 0, kept_pairs[OFFSETS + OTHER_SITES] = {0};
    for (uint32_t e = 0; e < COUNT; e++) {
        if (!lh_ref_dropout_keeps(&site, 5, e)) continue;
        kept_count++;
        for (int a = 0; a < OFFSETS; a++) kept_pairs[a] += lh_ref_dropout_keeps(&site, 5, (e + offset[a]) % COUNT);
        kept_pairs[OFFSETS] += lh_ref_dropout_keeps(&site, 6, e);
        kept_pairs[OFFSETS + 1] += lh_ref_dropout_keeps(&other_step, 5, e);
        kept_pairs[OFFSETS + 2] += lh_ref_dropout_keeps(&other_layer, 5, e);
        kept_pairs[OFFSETS + 3] += lh_ref_dropout_keeps(&other_place, 5, e);
    }
    assert_true(fabs(kept_count / COUNT - 0.7) < 5 * sqrt(0.21 / COUNT));
    for (int a = 0; a < OFFSETS + OTHER_SITES;
         a++) /* a pair has variance p^2 (1 - p^2), and covariance 2 p^3 (1 - p) with its neighbours */
        assert_true(fabs(kept_pairs[a] / COUNT - 0.49) < 5 * sqrt(0.46 / COUNT));
}

static void test_kept_values_are_scaled(void **state) {
    const lh_ref_dropout site = make_dropout(0.25);
    double x[33], y[33];
    lh_test_fill_values(1, 33, x);
    lh_ref_drop(&site, 7, 33, x, y);
    for (int e = 0; e < 33; e++) {
        double expected = lh_ref_dropout_keeps(&site, 7, (uint32_t)e) ? x[e] / 0.75 : 0;
        lh_assert_close(&y[e], &expected, 1, 0, 0);
    }
}

static void test_dropout_at_rate_zero_keeps_all(void **state) {
    const lh_ref_dropout site = make_dropout(0);
    double x[33], y[33];
    lh_test_fill_values(1, 33, x);
    lh_ref_drop(&site, 0, 33, x, y);
    lh_assert_close(y, x, 33, 0, 0);
}

/* ---- noise ---- */

/* Values computed in Python: Philox4x32-10 of the same counter, math.log, math.cos. */
static void test_normal_numbers_of_known_words_are_known(void **state) {
    const lh_key key = lh_key_of_seed(1);
    const uint32_t site = lh_site(LH_DOMAIN_EVAL_NOISE, 3, 1);
    const double expected[] = {-1.0918770793035835, 0.74476641295364543, -1.2812794292117002, -0.13212756038969825};
    double actual[4];
    for (uint32_t e = 0; e < 4; e++) actual[e] = lh_ref_normal(key, 16, site, 9, 8 + e);
    lh_assert_close(actual, expected, 4, 1e-12, 0);
}

/* Checks of a million numbers: mean, variance, fourth moment, mean product of neighbours, and the share of numbers
 * beyond two standard deviations. */
static void test_normal_numbers_have_the_moments_of_a_normal(void **state) {
    enum { EXAMPLES = 100, DRAWS = 10000 };
    const lh_key key = lh_key_of_seed(5);
    double sum = 0, squares = 0, fourth = 0, neighbours = 0, outside = 0, last = 0, count = (double)EXAMPLES * DRAWS;
    for (uint32_t b = 0; b < EXAMPLES; b++)
        for (uint32_t e = 0; e < DRAWS; e++) {
            double z = lh_ref_normal(key, 7, lh_site(LH_DOMAIN_EVAL_NOISE, 0, 0), b, e);
            sum += z;
            squares += z * z;
            fourth += z * z * z * z;
            neighbours += z * last;
            outside += fabs(z) > 2;
            last = z;
        }
    assert_true(fabs(sum / count) < 4e-3);
    assert_true(fabs(squares / count - 1) < 6e-3);
    assert_true(fabs(fourth / count - 3) < 4e-2);
    assert_true(fabs(neighbours / count) < 4e-3);
    assert_true(fabs(outside / count - 0.0455) < 1e-3);
}

/* Predictions show the noise that the reference adds at the start of an evaluation. */
static void test_start_noise_equals_the_reference(void **state) {
    enum { WIDTH = 8, TOKEN = 3, EXAMPLE = 5 };
    const lh_spec spec = {.draws_start = true, .start_width = WIDTH};
    const lh_draw draw = {.key = lh_key_of_seed(7), .step = 40, .example = 2};
    const uint32_t site = lh_site(LH_DOMAIN_EVAL_START, draw.example, 0);
    double actual[WIDTH], expected[WIDTH];
    for (int c = 0; c < WIDTH; c += LH_NOISE_BLOCK) lh_draw_start_noise(&spec, &draw, EXAMPLE, TOKEN, c, actual + c);
    for (uint32_t c = 0; c < WIDTH; c++)
        expected[c] = lh_ref_normal(draw.key, draw.step, site, EXAMPLE, TOKEN * WIDTH + c);
    lh_assert_close(actual, expected, WIDTH, 1e-15, 1e-15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal_numbers_of_known_words_are_known),
        cmocka_unit_test(test_normal_numbers_have_the_moments_of_a_normal),
        cmocka_unit_test(test_dropout_bits_come_from_halves_low_first),
        cmocka_unit_test(test_dropout_kept_share_is_near_one_minus_rate),
        cmocka_unit_test(test_dropout_of_weights_is_independent_over_heads_queries_and_keys),
        cmocka_unit_test(test_kept_values_are_scaled),
        cmocka_unit_test(test_dropout_at_rate_zero_keeps_all),
        cmocka_unit_test(test_start_noise_equals_the_reference),
    };
    return cmocka_run_group_tests_name("ref_draws", tests, NULL, NULL);
}
