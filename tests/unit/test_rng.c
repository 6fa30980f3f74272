/* longhand/rng.h: Random123's known answers, streams, and uniform integers. */
#include "lh_test.h"

#include <string.h>

#include "longhand/rng.h"

/* Cases of Random123 (tests/kat_vectors, philox4x32 10). A case has four words of a counter, two of a key, and the
 * four expected words. */
static void test_philox_gives_known_answers(void **state) {
    static const uint32_t cases[3][4 + 2 + 4] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6,
         0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420,
         0x24126ea1},
    };
    for (int i = 0; i < 3; i++) {
        lh_key key = {{cases[i][4], cases[i][5]}};
        uint32_t out[4];
        lh_philox(cases[i], key, out);
        assert_memory_equal(out, cases[i] + 6, sizeof out);
    }
}

static void test_key_of_a_seed_has_the_low_word_first(void **state) {
    lh_key key = lh_key_of_seed(0x0123456789abcdefu);
    assert_int_equal(key.word[0], 0x89abcdefu);
    assert_int_equal(key.word[1], 0x01234567u);
}

static void test_site_fields_do_not_overlap(void **state) {
    assert_int_equal(lh_site(5, 0, 2), 0x05000002u);
    assert_int_equal(lh_site(3, 0xffff, 0xff), 0x03ffffffu);
}

/* A stream consists of the blocks 0, 1, 2, ... at (step, example, site), four words each. */
static void test_words_are_blocks_in_order(void **state) {
    lh_key key = lh_key_of_seed(42);
    lh_rng rng = lh_rng_at(key, 7, 11, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_SAMPLE));
    for (uint32_t block = 0; block < 5; block++) {
        uint32_t counter[4] = {block, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_SAMPLE), 11, 7}, out[4];
        lh_philox(counter, key, out);
        for (int i = 0; i < 4; i++) assert_int_equal(lh_rng_word(&rng), out[i]);
    }
}

static void test_copy_continues_equally(void **state) {
    lh_rng a = lh_rng_at(lh_key_of_seed(1), 2, 3, 4);
    for (int i = 0; i < 6; i++) lh_rng_word(&a);
    lh_rng b = a;
    for (int i = 0; i < 20; i++) assert_int_equal(lh_rng_word(&a), lh_rng_word(&b));
}

static void test_integers_below_a_number_are_equally_frequent(void **state) {
    /* 99.9% points of chi-square with n - 1 degrees of freedom; the draws are fixed, so the test is deterministic. */
    static const struct {
        int n;
        double limit;
    } cases[] = {{2, 10.83}, {3, 13.82}, {5, 18.47}, {10, 27.88}, {40, 72.05}};
    lh_rng rng = lh_rng_at(lh_key_of_seed(3), 0, 0, 0);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        long count[40] = {0};
        for (int i = 0; i < 20000; i++) count[lh_rng_below(&rng, (uint32_t)cases[c].n)]++;
        assert_true(lh_test_compute_chi_square(count, cases[c].n) < cases[c].limit);
    }
}

static void test_integer_below_one_is_zero(void **state) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(3), 0, 0, 0);
    for (int i = 0; i < 100; i++) assert_int_equal(lh_rng_below(&rng, 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_gives_known_answers),
        cmocka_unit_test(test_key_of_a_seed_has_the_low_word_first),
        cmocka_unit_test(test_site_fields_do_not_overlap),
        cmocka_unit_test(test_words_are_blocks_in_order),
        cmocka_unit_test(test_copy_continues_equally),
        cmocka_unit_test(test_integers_below_a_number_are_equally_frequent),
        cmocka_unit_test(test_integer_below_one_is_zero),
    };
    return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
