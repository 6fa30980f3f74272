/* eval/by_sequence: the deviation over sequences and confidence bounds of shares. */
#include "lh_test.h"

#include <math.h>

#include "eval/by_sequence.h"

static lh_sums make_sums(int correct, int counted) { return (lh_sums){.correct = correct, .counted = counted}; }

/* Bounds by the published formula, computed separately to ten digits. */
static void test_wilson_bounds_match_the_published_formula(void **state) {
    static const struct {
        double share, count, low, high;
    } cases[] = {
        {0.5, 20, 0.2992980082, 0.7007019918}, {0.1, 10, 0.0178762131, 0.4041500268},    {0.0, 30, 0.0, 0.1135133932},
        {1.0, 100, 0.9630065018, 1.0},         {0.968, 500, 0.9486551310, 0.9802084864},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double low, high;
        lh_compute_wilson(cases[i].share, cases[i].count, &low, &high);
        lh_assert_close(&low, &cases[i].low, 1, 1e-8, 1e-9);
        lh_assert_close(&high, &cases[i].high, 1, 1e-8, 1e-9);
        assert_true(0 <= low && low <= cases[i].share && cases[i].share <= high && high <= 1);
    }
}

/* Four sequences, each evaluated in two draws. The third sequence has no counted label. The others have the shares
 * 0.75, 0.25 and 1. */
static void test_deviation_is_computed_from_the_share_of_each_sequence(void **state) {
    double share[5];
    lh_by_sequence statistics = {share, 0};
    const lh_sums first[] = {make_sums(4, 4), make_sums(1, 4), make_sums(0, 0), make_sums(2, 2)};
    const lh_sums second[] = {make_sums(2, 4), make_sums(1, 4), make_sums(0, 0), make_sums(2, 2)};
    lh_by_sequence_begin(&statistics, 4);
    lh_by_sequence_add(&statistics, first, 0, 2); /* first batch */
    lh_by_sequence_add(&statistics, first + 2, 2, 2);
    lh_by_sequence_add(&statistics, second, 0, 4);
    double expected = sqrt(((0.75 - 2 / 3.0) * (0.75 - 2 / 3.0) + (0.25 - 2 / 3.0) * (0.25 - 2 / 3.0) + 1 / 9.0) / 2);
    double actual = lh_by_sequence_compute_deviation(&statistics, 2);
    lh_assert_close(&actual, &expected, 1, 1e-12, 0);
    lh_by_sequence_begin(&statistics, 1);
    lh_by_sequence_add(&statistics, first, 0, 4); /* more sequences than requested */
    assert_true(isnan(lh_by_sequence_compute_deviation(&statistics, 1)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wilson_bounds_match_the_published_formula),
        cmocka_unit_test(test_deviation_is_computed_from_the_share_of_each_sequence),
    };
    return cmocka_run_group_tests_name("by_sequence", tests, NULL, NULL);
}
