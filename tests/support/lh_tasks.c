/* See lh_tasks.h. */
#include "lh_tasks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lh_test.h"

enum {
    GUARD = 0x7777,           /* the element after an array */
    EXAMPLES_PER_LENGTH = 20, /* examples of lh_check_every_length */
    EXAMPLES = 40,            /* examples per length of a score */
    MOST_SYMBOLS = 11
};

int lh_keep_length(int n) { return n; }
int lh_get_one(int n) { return 1; }
int lh_add_one(int n) { return n + 1; }

void lh_draw_example(const lh_task_case *task, int n, uint32_t step, uint32_t index, lh_drawn_example *result) {
    result->n = n;
    result->inputs = task->inputs(n);
    result->outputs = task->outputs(n);
    memset(result->mask, 1, sizeof result->mask);
    result->input[result->inputs] = result->target[result->outputs] = GUARD;
    lh_example example = {.input_length = result->inputs,
                          .output_length = result->outputs,
                          .input = result->input,
                          .target = result->target,
                          .mask = result->mask,
                          .options = task->options};
    lh_rng rng = lh_rng_at(lh_key_of_seed(9), step, index, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_SAMPLE));
    task->sample(&rng, n, &example);
    assert_int_equal(result->input[result->inputs], GUARD);
    assert_int_equal(result->target[result->outputs], GUARD);
    assert_int_equal(result->mask[result->outputs], 1);
    for (int i = 0; i < result->inputs; i++) assert_in_range(result->input[i], 0, task->symbols - 1);
    for (int i = 0; i < result->outputs; i++) assert_in_range(result->target[i], 0, task->classes - 1);
    result->counted = 0;
    while (result->counted < result->outputs && result->mask[result->counted] == 1) result->counted++;
    for (int i = result->counted; i < result->outputs; i++) assert_int_equal(result->mask[i], 0);
}

void lh_check_every_length(const lh_task_case *task) {
    static const int long_lengths[] = {41, 77, 150, 499, 500, LH_TASKS_LONGEST};
    static lh_drawn_example example;
    for (int i = 0; i < 46; i++) {
        int n = i < 40 ? i + 1 : long_lengths[i - 40];
        for (uint32_t index = 0; index < (n == LH_TASKS_LONGEST ? 2 : EXAMPLES_PER_LENGTH); index++) {
            lh_draw_example(task, n, (uint32_t)n, index, &example);
            if (!task->rule(&example))
                fail_msg("n = %d, example %d: the target is not the answer to the input", n, (int)index);
        }
    }
}

static int find_token(char digit) { return digit >= 'a' ? digit - 'a' + 10 : digit - '0'; }

void lh_check_worked_example(const lh_task_case *task, const char *input, const char *target) {
    static lh_drawn_example example;
    example.inputs = example.n = (int)strlen(input);
    for (int i = 0; i < example.inputs; i++) example.input[i] = (uint16_t)find_token(input[i]);
    example.outputs = example.counted = 0;
    for (const char *cursor = target; *cursor; cursor++) {
        if (*cursor == '|') example.counted = example.outputs;
        else example.target[example.outputs++] = (uint16_t)find_token(*cursor);
    }
    if (example.counted == 0) example.counted = example.outputs;
    assert_int_equal(example.outputs, task->outputs(example.n));
    assert_true(task->rule(&example));
    for (int i = 0; i < example.outputs; i++) {
        uint16_t right_token = example.target[i];
        example.target[i] = (uint16_t)((right_token + 1) % task->classes);
        assert_false(task->rule(&example));
        example.target[i] = right_token;
    }
    example.counted--;
    assert_false(task->rule(&example));
}

/* The approximation is by Wilson and Hilferty: the cube root of chi-square is nearly normal. */
double lh_compute_chi_limit(int freedom) {
    double variance = 2.0 / (9.0 * freedom), root = 1.0 - variance + 4.265 * sqrt(variance); /* 4.265: quantile */
    return freedom * root * root * root;
}

void lh_check_equal(const long *counts, int categories) {
    assert_true(lh_test_compute_chi_square(counts, categories) < lh_compute_chi_limit(categories - 1));
}

void lh_check_uniform(const lh_task_case *task) {
    enum { N = 70, EXAMPLES_OF_TEST = 4000 };
    static long single[N][MOST_SYMBOLS], pair[N][MOST_SYMBOLS * MOST_SYMBOLS];
    static lh_drawn_example example;
    memset(single, 0, sizeof single);
    memset(pair, 0, sizeof pair);
    for (uint32_t e = 0; e < EXAMPLES_OF_TEST; e++) {
        lh_draw_example(task, N, 1, e, &example);
        for (int i = 0; i < N; i++) {
            single[i][example.input[i]]++;
            if (i > 0) pair[i][example.input[i - 1] * task->symbols + example.input[i]]++;
        }
    }
    for (int i = 0; i < N; i++) {
        lh_check_equal(single[i], task->symbols);
        if (i > 0) lh_check_equal(pair[i], task->symbols * task->symbols);
    }
}

int lh_guess_0(const lh_task_case *task, const lh_drawn_example *example) { return 0; }
int lh_guess_1(const lh_task_case *task, const lh_drawn_example *example) { return 1; }

int lh_guess_most_frequent(const lh_task_case *task, const lh_drawn_example *example) {
    int count[MOST_SYMBOLS] = {0}, best = 0;
    for (int i = 0; i < example->inputs; i++) count[example->input[i]]++;
    for (int token = 1; token < task->classes; token++)
        if (count[token] > count[best]) best = token;
    return best;
}

static double measure_accuracy(const lh_task_case *task, lh_task_guess *guess, int n, int examples) {
    static lh_drawn_example example;
    long correct = 0, counted = 0;
    for (int e = 0; e < examples; e++) {
        lh_draw_example(task, n, (uint32_t)n, (uint32_t)e, &example);
        int answer = guess(task, &example);
        for (int i = 0; i < example.counted; i++) correct += example.target[i] == answer;
        counted += example.counted;
    }
    return 100.0 * (double)correct / (double)counted;
}

lh_score lh_score_guess(const lh_task_case *task, lh_task_guess *guess, int first, int last, int step, int examples) {
    double sum = 0, squares = 0;
    int lengths = 0;
    for (int n = first; n <= last; n += step, lengths++) {
        double accuracy = measure_accuracy(task, guess, n, examples);
        sum += accuracy;
        squares += accuracy * accuracy;
    }
    double mean = sum / lengths, variance = squares / lengths - mean * mean;
    return (lh_score){mean, sqrt(variance > 0 ? variance / lengths : 0)};
}

void lh_check_score(const lh_task_case *task, lh_task_guess *guess, int step, double expected, double own_error) {
    const char *examples = getenv("LH_TASK_EXAMPLES");
    lh_score actual = lh_score_guess(task, guess, 41, 500, examples ? 1 : step, examples ? atoi(examples) : EXAMPLES);
    if (fabs(actual.mean - expected) > 4 * actual.error + own_error)
        fail_msg("score %.3f with standard error %.3f, expected %.2f", actual.mean, actual.error, expected);
}

double lh_compute_counted_share(const lh_task_case *task, int examples) {
    static lh_drawn_example example;
    double sum = 0;
    for (int n = 41; n <= 500; n++) {
        long counted = 0;
        for (int e = 0; e < examples; e++) {
            lh_draw_example(task, n, (uint32_t)n, (uint32_t)e, &example);
            counted += example.counted;
        }
        sum += (double)counted / ((double)examples * n);
    }
    return sum / 460;
}
