/* runtime/data/arithmetic: the tasks of Duan and Shi 2024 compared with their worked examples and plain sums, and their
 * training and test sets. */
#include <stdlib.h>
#include <string.h>

#include "data/arithmetic.h"
#include "lh_arithmetic.h"
#include "lh_test.h"

/* ---- worked examples ---- */

/* Options, here and in all tests of arithmetic, are in the order of the task's file:
 * successor       base, places, numbers, parts
 * addition        base, places, input (1: aligned), split (1: stratified), numbers, parts
 * multiplication  base, places, extra places, input (1: aligned), split (1: stratified), numbers, parts
 * parity          places, target (0: running, 1: last), numbers, parts */
typedef struct worked_example {
    lh_task_collect *task;
    int options[8];
    uint16_t first, second; /* operands */
    const char *input, *target;
} worked_example;

static void test_worked_examples_are_those_of_the_paper(void **state) {
    static const worked_example cases[] = {
        {lh_task_successor, {10, 6, 64, 8}, 1999, 0, "$001999&", "000200&"},
        {lh_task_addition, {10, 4, 0, 0, 64, 8}, 123, 748, "$0123+0748&", "1780&"},
        {lh_task_addition, {10, 4, 1, 0, 64, 8}, 123, 748, "$+00172438&", "1780&"},
        {lh_task_multiplication, {10, 4, 0, 0, 0, 64, 8}, 123, 6, "$0123*6&", "8370&"},
        {lh_task_multiplication, {10, 4, 0, 1, 0, 64, 8}, 123, 6, "$*06162636&", "8370&"},
        {lh_task_multiplication, {10, 4, 2, 0, 0, 64, 8}, 9999, 9, "$9999*9&", "199980&"},
        {lh_task_parity, {8, 0, 64, 8}, 45, 0, "$00101101&", "11011000&"},
        {lh_task_parity, {8, 1, 64, 8}, 45, 0, "$00101101&", "0&"},
        {lh_task_addition, {16, 4, 0, 0, 64, 8}, 0xabc, 0xfff, "$0ABC+0FFF&", "BBA1&"},
        {lh_task_successor, {36, 4, 64, 8}, 46655, 0, "$0ZZZ&", "0001&"},
        {lh_task_successor, {2, 9, 64, 8}, 7, 0, "$000000111&", "000100000&"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lh_full_collection s = lh_make_full_collection(cases[i].options, 0, 1, false);
        lh_collect_all(&s, cases[i].task);
        const uint16_t word[] = {0, cases[i].first, 0, cases[i].second, 0};
        lh_text text = lh_write_example(&s, word, (int)strlen(cases[i].input), (int)strlen(cases[i].target));
        assert_string_equal(text.input, cases[i].input);
        assert_string_equal(text.target, cases[i].target);
        assert_int_equal(s.item[0].input_length, strlen(cases[i].input));
        assert_int_equal(s.item[0].output_length, strlen(cases[i].target));
        free(s.item);
    }
    /* ids in the published code: + 10, * 11, start 12, end 13, padding 14, then A */
    assert_true(LH_PLUS == 10 && LH_TIMES == 11 && LH_START == 12 && LH_END == 13 && LH_PADDING == 14);
    assert_int_equal(lh_get_digit_token(9), 9);
    assert_int_equal(lh_get_digit_token(10), 15);
}

/* ---- examples are correct, and so are their values on the axes ---- */

static uint64_t join_pair(uint64_t x, uint64_t y) { return x << 32 | y; }

static bool is_training_pair(const lh_full_collection *s, const uint64_t *pair, uint64_t pair_to_find) {
    for (int i = 0; i < s->count && s->item[i].set == LH_SET_TRAIN; i++)
        if (pair[i] == pair_to_find) return true;
    return false;
}

/* Checks all examples of sums or products and their values on the axes. width: places of the first operand; the second
 * operand of a sum has as many places, the second operand of a product has one. places: digits of a target. */
static void check_all(const lh_full_collection *s, bool is_product, int base, int width, int places) {
    uint64_t *pair = calloc((size_t)s->count, sizeof *pair);
    int checked_count = 0;
    for (int i = 0; i < s->count; i++) {
        const lh_kept_example *k = &s->item[i];
        lh_text text = lh_write_kept_example(s, k);
        int second_width = is_product ? 1 : width;
        uint64_t x = lh_read_digits(text.input, 1, 1 + width, base);
        uint64_t y = lh_read_digits(text.input, 2 + width, 2 + width + second_width, base);
        assert_int_equal(text.input[1 + width], is_product ? '*' : '+');
        assert_int_equal(strlen(text.target), places + 1);
        assert_int_equal(lh_read_reversed(text.target, base), is_product ? x * y : x + y);
        pair[i] = join_pair(x, y);
        int digits = lh_count_digits(base, !is_product && y > x ? y : x);
        assert_int_equal(k->axes[DIGITS], digits);
        if (k->set == LH_SET_TEST && !is_product) assert_int_equal(lh_count_digits(base, x < y ? x : y), digits);
        bool has_chain = k->axes[CARRY] != LH_NO_VALUE;
        if (has_chain) assert_int_equal(k->axes[CARRY], lh_find_chain_by_definition(base, is_product, x, y, digits));
        if (k->set != LH_SET_TEST) assert_true(has_chain);
        if (k->set == LH_SET_TRAIN) assert_int_equal(k->axes[TRAINED], LH_NO_VALUE);
        else if (digits < 4 && checked_count++ < 3000)
            assert_int_equal(k->axes[TRAINED], is_training_pair(s, pair, pair[i]));
    }
    assert_true(checked_count > 0);
    free(pair);
}

/* Checks the counts of test examples. Each pair of a digit count and a chain length has 500 examples. Each digit count
 * also has 1 to max_uniform examples that were chosen without regard to chains. */
static void check_counts(const lh_full_collection *s, int max_digits, int max_uniform) {
    int uniform[16] = {0}, cell[16][16] = {{0}};
    for (int i = 0; i < s->count; i++)
        if (s->item[i].set == LH_SET_TEST) {
            const int32_t *axes = s->item[i].axes;
            if (axes[CARRY] == LH_NO_VALUE) uniform[axes[DIGITS]]++;
            else cell[axes[DIGITS]][axes[CARRY]]++;
        }
    for (int digits = 1; digits <= max_digits; digits++) {
        assert_in_range(uniform[digits], 1, max_uniform);
        for (int chain = 0; chain <= digits; chain++) assert_int_equal(cell[digits][chain], 500);
    }
    assert_int_equal(s->c.exclusive_axes[LH_SET_TEST], 1u << CARRY);
    assert_int_equal(s->c.exclusive_axes[LH_SET_TRAIN], 0);
}

static void test_sums_and_products_are_right(void **state) {
    const int add[] = {10, 5, 0, 0, 256, 8}, times[] = {10, 4, 1, 0, 0, 256, 8}, hex[] = {16, 4, 0, 0, 256, 8};
    lh_full_collection s = lh_make_full_collection(add, 5, 3, true); /* seed 5, up to 3 digits, with chains */
    lh_collect_all(&s, lh_task_addition);
    check_all(&s, false, 10, 5, 5);
    check_counts(&s, 3, 900);
    free(s.item);
    s = lh_make_full_collection(times, 5, 3, true); /* seed 5, up to 3 digits, with chains */
    lh_collect_all(&s, lh_task_multiplication);
    check_all(&s, true, 10, 4, 5);
    check_counts(&s, 3, 900);
    free(s.item);
    s = lh_make_full_collection(hex, 5, 2, true); /* up to 2 digits */
    lh_collect_all(&s, lh_task_addition);
    check_all(&s, false, 16, 4, 4);
    free(s.item);
}

/* The chain of a successor is the run of nines at the end of the number; in base 2 it is the run of ones. In base 2,
 * the only number of one digit is 1. Its chain has the length 1, so no example of one digit has a chain of length 0. */
static void test_successor_has_chains_of_trailing_digits(void **state) {
    const int decimal[] = {10, 7, 2048, 8}, binary[] = {2, 12, 64, 8};
    lh_full_collection s = lh_make_full_collection(decimal, 5, 5, true); /* up to 5 digits, with chains */
    lh_collect_all(&s, lh_task_successor);
    for (int i = 0; i < s.count; i++) {
        lh_text text = lh_write_kept_example(&s, &s.item[i]);
        uint64_t n = lh_read_digits(text.input, 1, 8, 10);
        assert_int_equal(lh_read_reversed(text.target, 10), n + 1);
        int nines = 0;
        for (uint64_t remaining_digits = n; remaining_digits % 10 == 9; remaining_digits /= 10) nines++;
        assert_int_equal(s.item[i].axes[DIGITS], lh_count_digits(10, n));
        if (s.item[i].axes[CARRY] != LH_NO_VALUE) assert_int_equal(s.item[i].axes[CARRY], nines);
        assert_int_equal(lh_find_chain_by_definition(10, false, n, 1, lh_count_digits(10, n)),
                         nines); /* equal to the chain of the sum n + 1 */
    }
    check_counts(&s, 5, 10000);
    free(s.item);
    s = lh_make_full_collection(binary, 5, 2, true); /* up to 2 digits, with chains */
    lh_collect_all(&s, lh_task_successor);
    for (int i = 0; i < s.count; i++)
        if (s.item[i].set == LH_SET_TEST && s.item[i].axes[DIGITS] == 1) assert_true(s.item[i].axes[CARRY] != 0);
    free(s.item);
}

/* ---- splits ---- */

static void test_permutation_is_split_seven_to_one(void **state) {
    const int options[] = {16, 0, 4096, 8};
    uint8_t set_of_number[4096]; /* 1 + the set that has the number; 0: none yet */
    int set_count[LH_SETS];
    uint16_t first[2]; /* by seed: the first training number */
    for (uint64_t seed = 0; seed < 2; seed++) {
        lh_full_collection s = lh_make_full_collection(options, seed, 14, false); /* up to 14 digits, no chains */
        memset(set_of_number, 0, sizeof set_of_number);
        memset(set_count, 0, sizeof set_count);
        lh_collect_all(&s, lh_task_parity);
        for (int i = 0; i < s.count; i++) {
            uint64_t n = lh_read_digits(lh_write_kept_example(&s, &s.item[i]).input, 1, 17, 2);
            set_count[s.item[i].set]++;
            if (s.item[i].set == LH_SET_TEST) {
                assert_int_equal(s.item[i].axes[1], n < 4096 && set_of_number[n] == 1 + LH_SET_TRAIN);
                continue;
            }
            assert_in_range(n, 0, 4095);
            assert_int_equal(set_of_number[n], 0);
            set_of_number[n] = (uint8_t)(1 + s.item[i].set);
        }
        assert_int_equal(set_count[LH_SET_TRAIN], 3584);
        assert_int_equal(set_count[LH_SET_VALIDATION], 512);
        assert_int_equal(set_count[LH_SET_TEST], (1 << 14) - 1); /* all numbers of 1 to 14 bits */
        first[seed] = s.item[0].word[1];
        free(s.item);
    }
    assert_int_not_equal(first[0], first[1]);
}

/* Operands of validation pairs and of training pairs come from different parts of the permuted numbers. */
static void test_pairs_stay_within_their_part(void **state) {
    const int options[] = {10, 8, 0, 0, 4096, 4};
    uint8_t sets[4096] = {0};                                             /* by number: bits of the sets that use it */
    lh_full_collection s = lh_make_full_collection(options, 1, 1, false); /* seed 1, one digit */
    lh_collect_all(&s, lh_task_addition);
    int counts[LH_SETS] = {0};
    for (int i = 0; i < s.count; i++) {
        const lh_kept_example *k = &s.item[i];
        counts[k->set]++;
        if (k->set == LH_SET_TEST) continue;
        for (int operand = 0; operand < 2; operand++) sets[k->word[1 + 2 * operand]] |= (uint8_t)(1 << k->set);
    }
    for (int n = 0; n < 4096; n++) assert_int_not_equal(sets[n], 1 << LH_SET_TRAIN | 1 << LH_SET_VALIDATION);
    assert_int_equal(counts[LH_SET_TRAIN], 3072);
    assert_int_equal(counts[LH_SET_VALIDATION], 1024);
    assert_int_equal(counts[LH_SET_TEST], 9);
    free(s.item);
}

/* As in the released code, the list of an operand has the ranges 0 to 9, 0 to 90 and 0 to 900. For each digit count
 * from 4 to 6, the list has 1001 random numbers, which can include the next power of ten. The other 1995 numbers of the
 * list are random numbers from 1 to 1000000. */
static void test_stratified_operands_have_all_counts_of_digits(void **state) {
    enum { NUMBERS = 6000, SHARE = 1000 };
    const int options[] = {10, 8, 0, 1, NUMBERS, 8}, times[] = {10, 8, 1, 0, 1, NUMBERS, 8};
    lh_full_collection s = lh_make_full_collection(options, 1, 1, false); /* seed 1, one digit */
    lh_collect_all(&s, lh_task_addition);
    for (int operand = 0; operand < 2; operand++) {
        int count[1000] = {0}, count_by_digits[8] = {0};
        for (int i = 0; i < s.count; i++) {
            if (s.item[i].set == LH_SET_TEST) continue;
            const uint16_t *word = s.item[i].word + 1 + 2 * operand;
            uint32_t n = word[0] | (uint32_t)word[1] << 16;
            assert_in_range(n, 0, 1000000);
            count_by_digits[lh_count_digits(10, n)]++;
            if (n < 1000) count[n]++;
        }
        for (int n = 0; n <= 900; n++) assert_in_range(count[n], 1 + (n <= 90) + (n <= 9), 9);
        for (int digits = 4; digits <= 6; digits++) assert_in_range(count_by_digits[digits], SHARE - 20, NUMBERS);
        assert_in_range(count_by_digits[6], SHARE + 1700, SHARE + 1900); /* nine tenths of the remaining 1995 */
    }
    free(s.item);
    s = lh_make_full_collection(times, 1, 1, false);
    lh_collect_all(&s, lh_task_multiplication);
    for (int i = 0; i < s.count; i++)
        if (s.item[i].set != LH_SET_TEST) assert_in_range(s.item[i].word[3], 1, 9);
    free(s.item);
}

static void test_tests_have_the_digit_counts_of_the_paper(void **state) {
    const int options[] = {10, 61, 64, 8};
    int counts[8] = {0}, number_counts[100] = {0};
    lh_full_collection s = lh_make_full_collection(options, 3, 6, false); /* seed 3, up to 6 digits */
    lh_collect_all(&s, lh_task_successor);
    for (int i = 0; i < s.count; i++)
        if (s.item[i].set == LH_SET_TEST) {
            counts[s.item[i].axes[DIGITS]]++;
            if (s.item[i].axes[DIGITS] <= 2)
                number_counts[lh_read_digits(lh_write_kept_example(&s, &s.item[i]).input, 1, 62, 10)]++;
        }
    const int expected[8] = {0, 9, 90, 900, 9000, 10000, 10000, 0};
    assert_memory_equal(counts, expected, sizeof expected);
    for (int n = 1; n < 100; n++) assert_int_equal(number_counts[n], 1);
    free(s.item);
}

/* Numbers above 32 bits have a value on the axis of digits, too. */
static void test_long_numbers_have_their_digits(void **state) {
    const int times[] = {10, 13, 1, 0, 0, 64, 8};
    lh_full_collection s = lh_make_full_collection(times, 3, 12, false); /* seed 3, up to 12 digits */
    int counts[14] = {0};
    s.min_digits = 9;
    lh_collect_all(&s, lh_task_multiplication);
    for (int i = 0; i < s.count; i++) {
        const lh_kept_example *k = &s.item[i];
        assert_int_equal(k->axes[DIGITS],
                         lh_count_digits(10, lh_read_digits(lh_write_kept_example(&s, k).input, 1, 14, 10)));
        if (k->set == LH_SET_TEST) counts[k->axes[DIGITS]]++;
    }
    for (int digits = 1; digits < 14; digits++)
        assert_int_equal(counts[digits], digits >= 9 && digits <= 12 ? 10000 : 0);
    free(s.item);
}

/* The task's frame is the widest frame. The longest numbers that fit in it are also tested in the smallest frame that
 * fits (frame 0) and in a requested frame of the greatest width. All three frames have the same width. */
static void test_numbers_fill_the_widest_frame(void **state) {
    const int next[] = {10, LH_MAX_PLACES, 64, 8};
    lh_full_collection s = lh_make_full_collection(next, 3, LH_MAX_PLACES, false);
    int unframed_count = 0, framed_count = 0;
    s.min_digits = LH_MAX_PLACES - 1;
    s.frame_axis = FRAME;
    s.frame[1] = LH_MAX_PLACES;
    lh_collect_all(&s, lh_task_successor);
    for (int i = 0; i < s.count; i++) {
        if (s.item[i].set != LH_SET_TEST) continue;
        assert_int_equal(s.item[i].axes[DIGITS], LH_MAX_PLACES - 1);
        assert_int_equal(s.item[i].input_length, LH_MAX_PLACES + 2);
        if (s.item[i].axes[FRAME] == LH_NO_VALUE) unframed_count++;
        else framed_count++;
    }
    assert_int_equal(unframed_count, 10000);
    assert_int_equal(framed_count, 20000);
    free(s.item);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_examples_are_those_of_the_paper),
        cmocka_unit_test(test_sums_and_products_are_right),
        cmocka_unit_test(test_successor_has_chains_of_trailing_digits),
        cmocka_unit_test(test_permutation_is_split_seven_to_one),
        cmocka_unit_test(test_pairs_stay_within_their_part),
        cmocka_unit_test(test_stratified_operands_have_all_counts_of_digits),
        cmocka_unit_test(test_tests_have_the_digit_counts_of_the_paper),
        cmocka_unit_test(test_long_numbers_have_their_digits),
        cmocka_unit_test(test_numbers_fill_the_widest_frame),
    };
    return cmocka_run_group_tests_name("arithmetic", tests, NULL, NULL);
}
