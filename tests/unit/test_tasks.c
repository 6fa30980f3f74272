/* The samplers of runtime/data/tasks: each target is computed again from the input, by other means than the sampler's,
 * for every n; symbol distributions; and the scores of analytic predictors. */
#include "lh_test.h"

#include <string.h>

#include "longhand/task.h"

enum { LONGEST = 500, COPIES = 20 };

typedef void solver(const uint16_t *input, int n, uint16_t *target);

typedef struct task_case {
    lh_task_sample *sample;
    solver *solve;
    int symbols;
    int single; /* one output token, else n */
} task_case;

lh_task_sample lh_task_bucket_sort, lh_task_reverse_string, lh_task_even_pairs, lh_task_parity_check;

/* ---- the targets, by definition ---- */

static void sort_ascending(const uint16_t *input, int n, uint16_t *target) {
    for (int i = 0; i < n; i++) { /* insertion */
        int at = i;
        for (; at > 0 && target[at - 1] > input[i]; at--) target[at] = target[at - 1];
        target[at] = input[i];
    }
}

static void reverse(const uint16_t *input, int n, uint16_t *target) {
    for (int i = 0; i < n; i++) target[n - 1 - i] = input[i];
}

static void count_unequal_pairs(const uint16_t *input, int n, uint16_t *target) {
    int pairs = 0;
    for (int i = 0; i + 1 < n; i++) pairs += input[i] != input[i + 1];
    target[0] = (uint16_t)(pairs % 2);
}

static void count_ones(const uint16_t *input, int n, uint16_t *target) {
    int ones = 0;
    for (int i = 0; i < n; i++) ones += input[i];
    target[0] = (uint16_t)(ones % 2);
}

static const task_case bucket_sort = {lh_task_bucket_sort, sort_ascending, 5, 0};
static const task_case reverse_string = {lh_task_reverse_string, reverse, 2, 0};
static const task_case even_pairs = {lh_task_even_pairs, count_unequal_pairs, 2, 1};
static const task_case parity_check = {lh_task_parity_check, count_ones, 2, 1};

/* ---- one example ---- */

typedef struct sample {
    uint16_t input[LONGEST + 1], target[LONGEST + 1];
    uint8_t mask[LONGEST + 1];
    int outputs;
} sample;

/* One past the end of each array holds a value that must survive. */
static void draw(const task_case *task, int n, uint32_t step, uint32_t index, sample *s) {
    s->outputs = task->single ? 1 : n;
    memset(s->mask, 1, sizeof s->mask);
    s->input[n] = s->target[s->outputs] = 0x7777;
    lh_example example = {n, s->outputs, s->input, s->target, s->mask};
    lh_rng rng = lh_rng_at(lh_key_of_seed(9), step, index, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_SAMPLE));
    task->sample(&rng, n, &example);
    assert_int_equal(s->input[n], 0x7777);
    assert_int_equal(s->target[s->outputs], 0x7777);
}

static void check_example(const task_case *task, int n, const sample *s) {
    uint16_t want[LONGEST];
    task->solve(s->input, n, want);
    assert_memory_equal(s->target, want, (size_t)s->outputs * sizeof want[0]);
    for (int i = 0; i < n; i++) assert_in_range(s->input[i], 0, task->symbols - 1);
    for (int i = 0; i < s->outputs; i++) assert_int_equal(s->mask[i], 1);
}

static void check_every_length(const task_case *task) {
    static const int beyond[] = {41, 77, 150, 499, 500};
    sample s;
    for (int i = 0; i < 45; i++) {
        int n = i < 40 ? i + 1 : beyond[i - 40];
        for (uint32_t copy = 0; copy < COPIES; copy++) {
            draw(task, n, (uint32_t)n, copy, &s);
            check_example(task, n, &s);
        }
    }
}

/* The worked examples of the paper's fact sheet, so that the definitions above are right, too. */
static void check_worked(solver *solve, const char *input, const char *target) {
    uint16_t in[16], out[16];
    int n = (int)strlen(input), outputs = (int)strlen(target);
    for (int i = 0; i < n; i++) in[i] = (uint16_t)(input[i] - '0');
    solve(in, n, out);
    for (int i = 0; i < outputs; i++) assert_int_equal(out[i], target[i] - '0');
}

/* ---- distributions ---- */

/* Every position takes every symbol equally often, and so does every pair of neighbours. */
static void check_uniform(const task_case *task, double limit_single, double limit_pair) {
    enum { N = 70, EXAMPLES = 4000 };
    static long single[N][5], pair[N][25];
    sample s;
    memset(single, 0, sizeof single);
    memset(pair, 0, sizeof pair);
    for (uint32_t e = 0; e < EXAMPLES; e++) {
        draw(task, N, 1, e, &s);
        for (int i = 0; i < N; i++) {
            single[i][s.input[i]]++;
            if (i > 0) pair[i][s.input[i - 1] * task->symbols + s.input[i]]++;
        }
    }
    for (int i = 0; i < N; i++) {
        assert_true(lh_test_chi_square(single[i], task->symbols) < limit_single);
        if (i > 0) assert_true(lh_test_chi_square(pair[i], task->symbols * task->symbols) < limit_pair);
    }
}

/* 1 - 1e-5 points of chi-square: 70 tests at a time, of fixed draws. */
static const double CHI_1 = 19.5, CHI_3 = 25.9, CHI_4 = 28.5, CHI_24 = 61.0;

/* ---- analytic predictors ---- */

/* The token that is most frequent in the sequence, at every place. */
static long correct_of_most_frequent(const task_case *task, int n, const sample *s) {
    int count[5] = {0}, best = 0;
    for (int i = 0; i < n; i++) count[s->input[i]]++;
    for (int token = 1; token < task->symbols; token++)
        if (count[token] > count[best]) best = token;
    long correct = 0;
    for (int i = 0; i < s->outputs; i++) correct += s->target[i] == best;
    return correct;
}

/* Mean over lengths of the pooled token accuracy, in percent: the paper's score. */
static double score(const task_case *task, int first, int last, int step, int examples) {
    sample s;
    double sum = 0;
    int lengths = 0;
    for (int n = first; n <= last; n += step, lengths++) {
        long correct = 0, counted = 0;
        for (int e = 0; e < examples; e++) {
            draw(task, n, (uint32_t)n, (uint32_t)e, &s);
            correct += correct_of_most_frequent(task, n, &s);
            counted += s.outputs;
        }
        sum += 100.0 * (double)correct / (double)counted;
    }
    return sum / lengths;
}

/* ---- tests ---- */

static void test_bucket_sort_every_length_sorted(void **state) {
    (void)state;
    check_worked(sort_ascending, "10204112", "00111224");
    check_worked(sort_ascending, "330", "033");
    check_every_length(&bucket_sort);
}

static void test_reverse_string_every_length_reversed(void **state) {
    (void)state;
    check_worked(reverse, "011", "110");
    check_worked(reverse, "10010", "01001");
    check_every_length(&reverse_string);
}

static void test_even_pairs_every_length_ends_compared(void **state) {
    (void)state;
    check_worked(count_unequal_pairs, "01001", "1");
    check_worked(count_unequal_pairs, "1101", "0");
    check_worked(count_unequal_pairs, "1", "0");
    check_every_length(&even_pairs);
}

static void test_parity_check_every_length_parity(void **state) {
    (void)state;
    check_worked(count_ones, "1011", "1");
    check_worked(count_ones, "01100", "0");
    check_every_length(&parity_check);
}

static void test_bucket_sort_tokens_uniform(void **state) {
    (void)state;
    check_uniform(&bucket_sort, CHI_4, CHI_24);
}

static void test_bit_tasks_tokens_uniform(void **state) {
    (void)state;
    check_uniform(&reverse_string, CHI_1, CHI_3);
    check_uniform(&even_pairs, CHI_1, CHI_3);
    check_uniform(&parity_check, CHI_1, CHI_3);
}

/* Bits come 32 from a word, lowest first: part of the contract, since a GPU must make the same tokens. */
static void test_bit_tasks_words_lowest_bit_first(void **state) {
    (void)state;
    sample s;
    draw(&reverse_string, 70, 5, 6, &s);
    lh_rng rng = lh_rng_at(lh_key_of_seed(9), 5, 6, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_SAMPLE));
    uint32_t word[3] = {lh_rng_word(&rng), lh_rng_word(&rng), lh_rng_word(&rng)};
    for (int i = 0; i < 70; i++) assert_int_equal(s.input[i], word[i / 32] >> i % 32 & 1);
}

/* Single targets are balanced, whatever the length (for even pairs, from n = 2). */
static void test_single_tasks_targets_balanced(void **state) {
    (void)state;
    sample s;
    const task_case *tasks[] = {&even_pairs, &parity_check};
    for (int t = 0; t < 2; t++) {
        for (int n = 2; n <= 40; n += 19) {
            long seen[2] = {0, 0};
            for (uint32_t e = 0; e < 4000; e++) {
                draw(tasks[t], n, 3, e, &s);
                seen[s.target[0]]++;
            }
            assert_true(lh_test_chi_square(seen, 2) < CHI_1);
        }
    }
}

/* 52.78 over lengths 41 to 500, exact. 60 examples of each: standard error 0.013. */
static void test_reverse_string_majority_bit_scores_as_derived(void **state) {
    (void)state;
    double got = score(&reverse_string, 41, 500, 1, 60), want = 52.78;
    lh_assert_close(&got, &want, 1, 0, 0.05);
}

/* Exact values at single lengths: 56.27 at 41, 51.78 at 500. */
static void test_reverse_string_majority_bit_at_two_lengths_scores_as_derived(void **state) {
    (void)state;
    double got[2] = {score(&reverse_string, 41, 41, 1, 8000), score(&reverse_string, 500, 500, 1, 2000)};
    double want[2] = {56.27, 51.78};
    lh_assert_close(got, want, 2, 0, 0.2);
}

/* 23.69 over lengths 41 to 500, known by simulation. */
static void test_bucket_sort_most_frequent_token_scores_as_derived(void **state) {
    (void)state;
    double got = score(&bucket_sort, 41, 500, 1, 60), want = 23.69;
    lh_assert_close(&got, &want, 1, 0, 0.05);
}

int main(void) {
    const struct CMUnitTest tasks[] = {
        cmocka_unit_test(test_bucket_sort_every_length_sorted),
        cmocka_unit_test(test_reverse_string_every_length_reversed),
        cmocka_unit_test(test_even_pairs_every_length_ends_compared),
        cmocka_unit_test(test_parity_check_every_length_parity),
        cmocka_unit_test(test_bucket_sort_tokens_uniform),
        cmocka_unit_test(test_bit_tasks_tokens_uniform),
        cmocka_unit_test(test_bit_tasks_words_lowest_bit_first),
        cmocka_unit_test(test_single_tasks_targets_balanced),
        cmocka_unit_test(test_reverse_string_majority_bit_scores_as_derived),
        cmocka_unit_test(test_reverse_string_majority_bit_at_two_lengths_scores_as_derived),
        cmocka_unit_test(test_bucket_sort_most_frequent_token_scores_as_derived),
    };
    return cmocka_run_group_tests(tasks, NULL, NULL);
}
