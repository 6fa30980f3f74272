/* runtime/data/chains: pairs of numbers that are sampled by the length of their longest chain of carries. */
#include <stdlib.h>

#include "data/arithmetic.h"
#include "lh_arithmetic.h"
#include "lh_test.h"

enum { DRAWS = 20000 };

/* All pairs of numbers with these digits and this chain are sampled equally often. No other pair is sampled. */
static void check_uniform(int base, bool is_product, int digits, int chain) {
    uint64_t high = 1, y_end, b = (uint64_t)base;
    for (int i = 0; i < digits; i++) high *= b;
    y_end = is_product ? b : high;
    int *count = calloc((size_t)(high * y_end), sizeof *count), pairs = 0;
    lh_chains *c;
    lh_error error;
    lh_rng rng = lh_rng_at(lh_key_of_seed(9), (uint32_t)digits, (uint32_t)chain, 0);
    lh_assert_ok(lh_chains_open(&c, base, is_product, digits + 1, &error), &error);
    lh_chains_set_length(c, chain);
    for (int i = 0; i < DRAWS; i++) {
        uint8_t x[8], y[8];
        uint64_t first = 0, second = 0;
        if (!lh_chains_draw(c, &rng, digits, x, y)) break;
        assert_int_equal(lh_find_longest_chain(base, is_product, digits, x, y), chain);
        for (int d = digits - 1; d >= 0; d--) first = first * b + x[d];
        for (int d = is_product ? 0 : digits - 1; d >= 0; d--) second = second * b + y[d];
        count[first * y_end + second]++;
    }
    for (uint64_t x = high / b; x < high; x++)
        for (uint64_t y = is_product ? 0 : high / b; y < y_end; y++)
            pairs += lh_find_chain_by_definition(base, is_product, x, y, digits) == chain;
    for (uint64_t x = 0; x < high; x++)
        for (uint64_t y = 0; y < y_end; y++) {
            bool is_possible = x >= high / b && (is_product || y >= high / b) &&
                               lh_find_chain_by_definition(base, is_product, x, y, digits) == chain;
            double expected = is_possible ? (double)DRAWS / pairs : 0, difference = count[x * y_end + y] - expected;
            assert_true(difference * difference <= 36 * expected); /* within six standard deviations */
        }
    lh_chains_close(c);
    free(count);
}

static void test_draws_by_chain_are_uniform(void **state) {
    for (int chain = 0; chain <= 3; chain++) {
        check_uniform(3, false, 3, chain); /* base 3, sums of 3 digits */
        check_uniform(4, true, 3, chain);  /* base 4, products of 3 digits */
        check_uniform(2, false, 4, chain);
        check_uniform(6, false, 1 + chain % 2, chain / 2);
    }
    check_uniform(2, true, 3, 1); /* no product of bits makes a carry */
}

/* Samples of long numbers have the requested chain, which is rare by chance. */
static void test_draws_of_long_numbers_have_their_chain(void **state) {
    static const int chains[] = {0, 1, 2, 30, 59, 60};
    for (int is_product = 0; is_product < 2; is_product++) {
        lh_chains *c;
        lh_error error;
        lh_rng rng = lh_rng_at(lh_key_of_seed(9), 0, 0, 0);
        lh_assert_ok(lh_chains_open(&c, 10, is_product, 60, &error), &error);
        for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
            uint8_t x[60], y[60];
            lh_chains_set_length(c, chains[i]);
            for (int draw = 0; draw < 20; draw++) {
                assert_true(lh_chains_draw(c, &rng, 60, x, y));
                assert_int_equal(lh_find_longest_chain(10, is_product, 60, x, y), chains[i]);
                assert_true(x[59] > 0 && (is_product || y[59] > 0));
            }
        }
        lh_chains_close(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws_by_chain_are_uniform),
        cmocka_unit_test(test_draws_of_long_numbers_have_their_chain),
    };
    return cmocka_run_group_tests_name("chains", tests, NULL, NULL);
}
