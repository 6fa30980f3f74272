/* The samplers of runtime/data/tasks with independent tokens: bucket sort, even pairs, parity check, cycle
 * navigation; and counting. Targets computed in another way than by the sampler, distributions, scores of analytic
 * predictors. */
#include "lh_tasks.h"
#include "lh_test.h"

lh_task_sample lh_task_bucket_sort, lh_task_even_pairs, lh_task_parity_check, lh_task_cycle_navigation;
lh_task_sample lh_task_counting;

/* ---- the targets, by definition ---- */

static bool counts_all_labels(const lh_drawn_example *d) { return d->counted == d->outputs; }

/* Whether the target is ascending and has every token as often as the input. */
static bool is_sorted(const lh_drawn_example *d) {
    int balance[5] = {0};
    for (int i = 0; i < d->outputs; i++) {
        balance[d->target[i]]++;
        balance[d->input[i]]--;
        if (i > 0 && d->target[i - 1] > d->target[i]) return false;
    }
    for (int token = 0; token < 5; token++)
        if (balance[token] != 0) return false;
    return counts_all_labels(d);
}

/* Whether the target is 1 if an odd number of neighbours differ, else 0. */
static bool is_parity_of_changes(const lh_drawn_example *d) {
    int pairs = 0;
    for (int i = 0; i + 1 < d->n; i++) pairs += d->input[i] != d->input[i + 1];
    return counts_all_labels(d) && d->target[0] == pairs % 2;
}

static int count_tokens(const lh_drawn_example *d, int token) {
    int count = 0;
    for (int i = 0; i < d->inputs; i++) count += d->input[i] == token;
    return count;
}

static bool is_parity_of_ones(const lh_drawn_example *d) {
    return counts_all_labels(d) && d->target[0] == count_tokens(d, 1) % 2;
}

/* Whether the target is the sum of the steps modulo 5: token 2 is a step of 1, token 0 a step of -1. */
static bool is_sum_of_steps(const lh_drawn_example *d) {
    int remainder = (count_tokens(d, 2) - count_tokens(d, 0)) % 5;
    return counts_all_labels(d) && d->target[0] == (remainder < 0 ? remainder + 5 : remainder);
}

/* Whether a reset (0) comes first, and each target is the number of increments (1) after the last reset, at most 9. */
static bool is_counted(const lh_drawn_example *d) {
    for (int i = 0; i < d->n; i++) {
        int increments = 0, last = i;
        for (; last > 0 && d->input[last] != 0; last--) increments += d->input[last] == 1;
        if (d->target[i] != increments || increments > 9) return false;
    }
    return d->input[0] == 0 && counts_all_labels(d);
}

static const lh_task_case bucket_sort = {.sample = lh_task_bucket_sort,
                                         .rule = is_sorted,
                                         .inputs = lh_keep_length,
                                         .outputs = lh_keep_length,
                                         .symbols = 5,
                                         .classes = 5};
static const lh_task_case even_pairs = {.sample = lh_task_even_pairs,
                                        .rule = is_parity_of_changes,
                                        .inputs = lh_keep_length,
                                        .outputs = lh_get_one,
                                        .symbols = 2,
                                        .classes = 2};
static const lh_task_case parity_check = {.sample = lh_task_parity_check,
                                          .rule = is_parity_of_ones,
                                          .inputs = lh_keep_length,
                                          .outputs = lh_get_one,
                                          .symbols = 2,
                                          .classes = 2};
static const lh_task_case cycle = {.sample = lh_task_cycle_navigation,
                                   .rule = is_sum_of_steps,
                                   .inputs = lh_keep_length,
                                   .outputs = lh_get_one,
                                   .symbols = 3,
                                   .classes = 5};
static const lh_task_case counting = {.sample = lh_task_counting,
                                      .rule = is_counted,
                                      .inputs = lh_keep_length,
                                      .outputs = lh_keep_length,
                                      .symbols = 3,
                                      .classes = 10};

/* ---- tests ---- */

static void test_bucket_sort_is_right_at_every_length(void **state) {
    lh_check_worked_example(&bucket_sort, "10204112", "00111224");
    lh_check_worked_example(&bucket_sort, "330", "033");
    lh_check_every_length(&bucket_sort);
}

static void test_even_pairs_is_right_at_every_length(void **state) {
    lh_check_worked_example(&even_pairs, "01001", "1");
    lh_check_worked_example(&even_pairs, "1101", "0");
    lh_check_worked_example(&even_pairs, "1", "0");
    lh_check_every_length(&even_pairs);
}

static void test_parity_check_is_right_at_every_length(void **state) {
    lh_check_worked_example(&parity_check, "1011", "1");
    lh_check_worked_example(&parity_check, "01100", "0");
    lh_check_every_length(&parity_check);
}

static void test_cycle_navigation_is_right_at_every_length(void **state) {
    lh_check_worked_example(&cycle, "20100", "3");
    lh_check_worked_example(&cycle, "222022", "4");
    lh_check_every_length(&cycle);
}

static void test_counting_is_right_at_every_length(void **state) {
    lh_check_worked_example(&counting, "0121102", "0112300");
    lh_check_worked_example(&counting, "00211", "00012");
    lh_check_every_length(&counting);
}

/* In inputs with a single reset, all final counts are equally frequent. */
static void test_final_counts_of_counting_are_uniform(void **state) {
    static lh_drawn_example example;
    long count[10] = {0};
    for (uint32_t e = 0; e < 8000; e++) {
        lh_draw_example(&counting, 40, 3, e, &example);
        if (count_tokens(&example, 0) == 1) count[example.target[39]]++;
    }
    lh_check_equal(count, 10);
}

static void test_tokens_are_uniform(void **state) {
    lh_check_uniform(&bucket_sort);
    lh_check_uniform(&even_pairs);
    lh_check_uniform(&parity_check);
    lh_check_uniform(&cycle);
}

/* Single targets are balanced for any length (for even pairs, from n = 2 on). */
static void test_single_targets_are_balanced(void **state) {
    static lh_drawn_example example;
    const lh_task_case *tasks[] = {&even_pairs, &parity_check};
    for (int t = 0; t < 2; t++) {
        for (int n = 2; n <= 40; n += 19) {
            long count[2] = {0, 0};
            for (uint32_t e = 0; e < 4000; e++) {
                lh_draw_example(tasks[t], n, 3, e, &example);
                count[example.target[0]]++;
            }
            lh_check_equal(count, 2);
        }
    }
}

/* A simulation gives a score of 23.69 over lengths 41 to 500. Calls of lh_check_score, here and below, give the step of
 * the lengths, the expected score and its error. */
static void test_most_frequent_token_scores_in_bucket_sort_as_derived(void **state) {
    lh_check_score(&bucket_sort, lh_guess_most_frequent, 1, 23.69, 0.02);
}

static void test_constants_score_in_cycle_navigation_as_derived(void **state) {
    lh_check_score(&cycle, lh_guess_0, 1, 20.0, 0.0);
    lh_check_score(&cycle, lh_guess_1, 1, 20.0, 0.0);
}

/* A simulation gives a score of 29.37 over lengths 41 to 500. */
static void test_zero_scores_in_counting_as_simulated(void **state) {
    lh_check_score(&counting, lh_guess_0, 1, 29.37, 0.06);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bucket_sort_is_right_at_every_length),
        cmocka_unit_test(test_even_pairs_is_right_at_every_length),
        cmocka_unit_test(test_parity_check_is_right_at_every_length),
        cmocka_unit_test(test_cycle_navigation_is_right_at_every_length),
        cmocka_unit_test(test_counting_is_right_at_every_length),
        cmocka_unit_test(test_final_counts_of_counting_are_uniform),
        cmocka_unit_test(test_tokens_are_uniform),
        cmocka_unit_test(test_single_targets_are_balanced),
        cmocka_unit_test(test_most_frequent_token_scores_in_bucket_sort_as_derived),
        cmocka_unit_test(test_constants_score_in_cycle_navigation_as_derived),
        cmocka_unit_test(test_zero_scores_in_counting_as_simulated),
    };
    return cmocka_run_group_tests_name("tasks", tests, NULL, NULL);
}
