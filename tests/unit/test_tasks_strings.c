/* The samplers of runtime/data/tasks that copy bits: reverse string, duplicate string, odds first, missing
 * duplicate, stack manipulation. Targets computed in another way than by the sampler, distributions, scores of
 * analytic predictors. */
#include "lh_tasks.h"
#include "lh_test.h"

#include <string.h>

lh_task_sample lh_task_reverse_string, lh_task_duplicate_string, lh_task_odds_first;
lh_task_sample lh_task_missing_duplicate_string, lh_task_stack_manipulation;

/* ---- the targets, by definition ---- */

static bool counts_all_labels(const lh_drawn_example *d) { return d->counted == d->outputs; }

static bool is_reversed(const lh_drawn_example *d) {
    for (int i = 0; i < d->n; i++)
        if (d->target[d->n - 1 - i] != d->input[i]) return false;
    return counts_all_labels(d);
}

static bool is_doubled(const lh_drawn_example *d) {
    size_t bytes = (size_t)d->n * sizeof d->input[0];
    return counts_all_labels(d) && memcmp(d->target, d->input, bytes) == 0 &&
           memcmp(d->target + d->n, d->input, bytes) == 0;
}

/* Whether the target has first the bits of the input at even indices (first = 0) or at odd indices (first = 1), then
 * the other bits. Indices count from 0. */
static bool has_odds_first(const lh_drawn_example *d, int first) {
    int offset = first == 1 ? d->n / 2 : (d->n + 1) / 2;
    for (int i = 0; i < d->n; i++)
        if (d->target[i % 2 == first ? i / 2 : offset + i / 2] != d->input[i]) return false;
    return counts_all_labels(d);
}

static bool has_odds_then_evens(const lh_drawn_example *d) { return has_odds_first(d, 1); }
static bool has_evens_then_odds(const lh_drawn_example *d) { return has_odds_first(d, 0); }

/* Whether the input is one text twice, with one bit hidden (token 2), and the target is the hidden bit. */
static bool is_hole_filled(const lh_drawn_example *d) {
    int m = d->n / 2, holes = 0;
    if (m == 0) return d->input[0] == 1 && d->target[0] == 1 && counts_all_labels(d);
    for (int i = 0; i < m; i++) {
        const uint16_t *hole = d->input[i] == 2 ? &d->input[i] : d->input[m + i] == 2 ? &d->input[m + i] : NULL;
        if (hole == NULL && d->input[i] != d->input[m + i]) return false;
        if (hole == NULL) continue;
        holes++;
        if (d->target[0] != (hole == &d->input[i] ? d->input[m + i] : d->input[i])) return false;
    }
    return holes == 1 && counts_all_labels(d) && (d->n % 2 == 0 || d->input[d->n - 1] == 3);
}

/* Whether the input is bits, then actions (2 pops, 3 and 4 push), and the target is the resulting stack, from its
 * top. The test reads the input backwards: a pop removes the next pushed or initial bit. The bits that remain are
 * the stack. */
static bool is_stack_right(const lh_drawn_example *d) {
    int bits = 0, pops = 0, found = 0;
    while (bits < d->n && d->input[bits] < 2) bits++;
    if (bits == 0 || (d->n > 1 && bits == d->n)) return false;
    for (int i = d->n - 1; i >= 0; i--) {
        int token = d->input[i];
        if (i >= bits && token < 2) return false;
        if (token == 2) pops++;
        else if (pops > 0) pops--;
        else if (d->target[found++] != token % 3) return false; /* bits of actions 3 and 4: 0 and 1 */
    }
    if (d->target[found] != 2 || d->counted != found + 1) return false;
    for (int i = found + 1; i < d->outputs; i++)
        if (d->target[i] != 0) return false;
    return true;
}

static int double_length(int n) { return 2 * n; }

static const int ODD[] = {0}, EVEN[] = {1}; /* the choices of the option `order` */
static const lh_task_case reverse_string = {.sample = lh_task_reverse_string,
                                            .rule = is_reversed,
                                            .inputs = lh_keep_length,
                                            .outputs = lh_keep_length,
                                            .symbols = 2,
                                            .classes = 2};
static const lh_task_case duplicate_string = {.sample = lh_task_duplicate_string,
                                              .rule = is_doubled,
                                              .inputs = lh_keep_length,
                                              .outputs = double_length,
                                              .symbols = 2,
                                              .classes = 2};
static const lh_task_case odds_first = {.sample = lh_task_odds_first,
                                        .rule = has_odds_then_evens,
                                        .inputs = lh_keep_length,
                                        .outputs = lh_keep_length,
                                        .symbols = 2,
                                        .classes = 2,
                                        .options = ODD};
static const lh_task_case evens_first = {.sample = lh_task_odds_first,
                                         .rule = has_evens_then_odds,
                                         .inputs = lh_keep_length,
                                         .outputs = lh_keep_length,
                                         .symbols = 2,
                                         .classes = 2,
                                         .options = EVEN};
static const lh_task_case missing = {.sample = lh_task_missing_duplicate_string,
                                     .rule = is_hole_filled,
                                     .inputs = lh_keep_length,
                                     .outputs = lh_get_one,
                                     .symbols = 4,
                                     .classes = 2};
static const lh_task_case stack = {.sample = lh_task_stack_manipulation,
                                   .rule = is_stack_right,
                                   .inputs = lh_keep_length,
                                   .outputs = lh_add_one,
                                   .symbols = 5,
                                   .classes = 3};

/* ---- targets ---- */

static void test_reverse_string_is_right_at_every_length(void **state) {
    lh_check_worked_example(&reverse_string, "011", "110");
    lh_check_worked_example(&reverse_string, "10010", "01001");
    lh_check_every_length(&reverse_string);
}

static void test_duplicate_string_is_right_at_every_length(void **state) {
    lh_check_worked_example(&duplicate_string, "10", "1010");
    lh_check_worked_example(&duplicate_string, "011", "011011");
    lh_check_every_length(&duplicate_string);
}

static void test_odds_first_is_right_at_every_length(void **state) {
    lh_check_worked_example(&odds_first, "00110101", "01110100");
    lh_check_worked_example(&odds_first, "110", "110");
    lh_check_worked_example(&evens_first, "00110101", "01000111");
    lh_check_worked_example(&evens_first, "110", "101");
    lh_check_every_length(&odds_first);
    lh_check_every_length(&evens_first);
}

static void test_missing_duplicate_is_right_at_every_length(void **state) {
    lh_check_worked_example(&missing, "01100210", "1");
    lh_check_worked_example(&missing, "1021003", "0");
    lh_check_worked_example(&missing, "1", "1");
    lh_check_every_length(&missing);
}

static void test_stack_manipulation_is_right_at_every_length(void **state) {
    lh_check_worked_example(&stack, "0110422", "1102|0000");
    lh_check_worked_example(&stack, "1223", "02|000");
    lh_check_worked_example(&stack, "12", "2|00");
    lh_check_worked_example(&stack, "0", "02|");
    lh_check_every_length(&stack);
}

/* ---- distributions ---- */

static void test_bits_are_uniform(void **state) {
    lh_check_uniform(&reverse_string);
    lh_check_uniform(&duplicate_string);
    lh_check_uniform(&odds_first);
}

/* A word gives 32 bits, lowest first: this is part of the contract, since a GPU must make the same tokens. */
static void test_bits_come_from_words_lowest_first(void **state) {
    static lh_drawn_example example;
    lh_draw_example(&reverse_string, 70, 5, 6, &example);
    lh_rng rng = lh_rng_at(lh_key_of_seed(9), 5, 6, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_SAMPLE));
    uint32_t word[3] = {lh_rng_word(&rng), lh_rng_word(&rng), lh_rng_word(&rng)};
    for (int i = 0; i < 70; i++) assert_int_equal(example.input[i], word[i / 32] >> i % 32 & 1);
}

/* The hole may be anywhere, and the hidden bit has either value. */
static void test_holes_of_missing_duplicate_are_uniform(void **state) {
    static lh_drawn_example example;
    long hole_counts[20] = {0}, bits[2] = {0}, answers[2] = {0};
    for (uint32_t e = 0; e < 6000; e++) {
        lh_draw_example(&missing, 21, 3, e, &example);
        int hole = 0;
        while (example.input[hole] != 2) hole++;
        hole_counts[hole]++;
        bits[example.input[(hole + 1) % 20]]++;
        answers[example.target[0]]++;
    }
    lh_check_equal(hole_counts, 20);
    lh_check_equal(bits, 2);
    lh_check_equal(answers, 2);
}

/* Before the actions the stack has 1 to n - 1 bits, with equal frequencies; bits and actions are uniform. */
static void test_heights_bits_and_actions_of_stacks_are_uniform(void **state) {
    static lh_drawn_example example;
    long heights[11] = {0}, bits[2] = {0}, actions[3] = {0};
    for (uint32_t e = 0; e < 6000; e++) {
        lh_draw_example(&stack, 12, 3, e, &example);
        int height = 0;
        while (example.input[height] < 2) height++;
        heights[height - 1]++;
        bits[example.input[height - 1]]++;
        actions[example.input[height] - 2]++;
    }
    lh_check_equal(heights, 11);
    lh_check_equal(bits, 2);
    lh_check_equal(actions, 3);
    long single[2] = {0};
    for (uint32_t e = 0; e < 2000; e++) {
        lh_draw_example(&stack, 1, 3, e, &example);
        single[example.input[0]]++;
    }
    lh_check_equal(single, 2);
}

/* ---- analytic predictors ---- */

/* Calls of lh_check_score give the step of the lengths, the expected score and its error. */

/* The mean score over lengths 41 to 500 is 52.78. The exact scores of lengths 41 and 500 are 56.27 and 51.78. */
static void test_majority_bit_scores_as_derived(void **state) {
    lh_check_score(&reverse_string, lh_guess_most_frequent, 1, 52.78, 0.005);
    lh_check_score(&duplicate_string, lh_guess_most_frequent, 2, 52.78, 0.03);
    lh_check_score(&odds_first, lh_guess_most_frequent, 2, 52.78, 0.03);
    double actual[2] = {lh_score_guess(&reverse_string, lh_guess_most_frequent, 41, 41, 1, 8000).mean,
                        lh_score_guess(&reverse_string, lh_guess_most_frequent, 500, 500, 1, 2000).mean};
    double expected[2] = {56.27, 51.78};
    lh_assert_close(actual, expected, 2, 0, 0.2);
}

static void test_majority_scores_in_missing_duplicate_as_derived(void **state) {
    lh_check_score(&missing, lh_guess_most_frequent, 1, 52.0, 0.1);
}

static void test_constants_score_in_stack_manipulation_as_derived(void **state) {
    lh_check_score(&stack, lh_guess_1, 2, 49.6, 0.1);
    lh_check_score(&stack, lh_guess_0, 2, 49.6, 0.1);
    double actual = lh_compute_counted_share(&stack, 10), expected = 0.671;
    lh_assert_close(&actual, &expected, 1, 0, 0.006);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reverse_string_is_right_at_every_length),
        cmocka_unit_test(test_duplicate_string_is_right_at_every_length),
        cmocka_unit_test(test_odds_first_is_right_at_every_length),
        cmocka_unit_test(test_missing_duplicate_is_right_at_every_length),
        cmocka_unit_test(test_stack_manipulation_is_right_at_every_length),
        cmocka_unit_test(test_bits_are_uniform),
        cmocka_unit_test(test_bits_come_from_words_lowest_first),
        cmocka_unit_test(test_holes_of_missing_duplicate_are_uniform),
        cmocka_unit_test(test_heights_bits_and_actions_of_stacks_are_uniform),
        cmocka_unit_test(test_majority_bit_scores_as_derived),
        cmocka_unit_test(test_majority_scores_in_missing_duplicate_as_derived),
        cmocka_unit_test(test_constants_score_in_stack_manipulation_as_derived),
    };
    return cmocka_run_group_tests_name("tasks of strings", tests, NULL, NULL);
}
