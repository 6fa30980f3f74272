/* engine/schedule: learning rates compared with PyTorch (tests/reference/optimizers.py), and runs that stop within a
 * schedule. A run cannot make steps after the end of a falling rate, although lh_compute_learning_rate gives them the
 * final rate. */
#include "lh_test.h"

#include <stdlib.h>
#include <string.h>

#include "engine/schedule.h"
#include "reference/vectors.h"
#include "toy_runs.h"

enum { STEPS = 50 };
static const double RATE = 1e-2;

/* The schedule of the stored learning rates. */
static lh_train_defaults make_stored_schedule(lh_schedule_kind kind, int64_t warmup) {
    return (lh_train_defaults){.steps = STEPS, .schedule = {.kind = kind, .warmup = warmup, .final = 0.1}};
}

static void check_rates(const char *name, lh_schedule_kind kind, int64_t warmup) {
    lh_error error;
    lh_st_file *file;
    int count = 0;
    double rates[STEPS];
    const lh_train_defaults train = make_stored_schedule(kind, warmup);
    lh_assert_ok(lh_st_read("tests/reference/optimizers.safetensors", &file, &error), &error);
    double *expected = lh_vectors_read_doubles(file, name, &count);
    assert_int_equal(count, STEPS);
    for (int t = 1; t <= STEPS; t++) rates[t - 1] = lh_compute_learning_rate(&train, RATE, t);
    lh_assert_close(rates, expected, STEPS, 1e-13, 0);
    free(expected);
    lh_st_free(file);
}

static void test_rates_are_those_of_pytorch(void **state) {
    check_rates("rate.linear", LH_SCHEDULE_LINEAR, 0);
    check_rates("rate.cosine", LH_SCHEDULE_COSINE, 0);
    check_rates("rate.warm_linear", LH_SCHEDULE_LINEAR, 10);
    check_rates("rate.warm_cosine", LH_SCHEDULE_COSINE, 10);
    check_rates("rate.warm_constant", LH_SCHEDULE_CONSTANT, 10);
}

/* Without a schedule every step has the run's own rate. */
static void test_rate_without_schedule_is_constant(void **state) {
    const lh_train_defaults train = {.steps = 3};
    for (int64_t t = 1; t < 100; t++) assert_true(lh_compute_learning_rate(&train, 3e-4, t) == 3e-4);
    lh_assert_ok(lh_schedule_check(&train, 1000, NULL), &(lh_error){""});
}

static void test_rate_after_the_last_step_is_the_final_rate(void **state) {
    const lh_train_defaults train = make_stored_schedule(LH_SCHEDULE_COSINE, 0);
    for (int64_t t = STEPS + 1; t < 2 * STEPS; t++) assert_true(lh_compute_learning_rate(&train, 1, t) == 0.1);
}

static void test_steps_that_do_not_fit_a_schedule_are_refused(void **state) {
    lh_error error;
    lh_train_defaults train = make_stored_schedule(LH_SCHEDULE_LINEAR, 0);
    lh_assert_ok(lh_schedule_check(&train, STEPS, &error), &error);
    lh_assert_ok(lh_schedule_check(&train, 3, &error), &error);
    lh_assert_error(lh_schedule_check(&train, 51, &error), LH_ERR_INPUT, &error,
                    "--steps 51: the learning rate falls until step 50");
    train.schedule.warmup = STEPS;
    lh_assert_error(lh_schedule_check(&train, 3, &error), LH_ERR_INPUT, &error,
                    "train.schedule.warmup: 50 of the 50 training steps\n  expected: at most 49");
}

static int make_scheduled_toy(void **state) {
    int failure = make_toy(state);
    toy.train.schedule = (lh_schedule){.kind = LH_SCHEDULE_COSINE, .warmup = 6, .final = 0.1};
    return failure;
}

/* Runs are stopped during the warm-up, and while the rate falls. */
static void test_run_resumed_within_a_schedule_has_the_same_bits(void **state) {
    run_toy(state, 0, "train --out whole --threads 1 --no-eval");
    lh_run_result first = run_toy(state, 0, "train --out parts --threads 1 --no-eval --steps 4");
    assert_non_null(strstr(first.err, "stops at step 4, before the learning rate schedule ends at step 20"));
    run_toy(state, 0, "train --out parts --threads 2 --no-eval --steps 13 --resume");
    run_toy(state, 0, "train --out parts --threads 1 --no-eval --resume");
    lh_assert_same_file(*state, "whole/" FOLDER "/checkpoint.safetensors", "parts/" FOLDER "/checkpoint.safetensors");
    lh_assert_same_lines(*state, "whole/" FOLDER "/metrics.jsonl", "parts/" FOLDER "/metrics.jsonl");
}

static void test_rates_are_recorded_and_applied(void **state) {
    run_toy(state, 0, "train --out . --threads 1 --no-eval");
    char *text = read_text(state, FOLDER "/metrics.jsonl"), *line = text;
    for (int t = 5; t <= 20; t += 5) {
        line = strstr(line, "\"learning_rate\":");
        assert_non_null(line);
        double rate = strtod(line += strlen("\"learning_rate\":"), NULL);
        double expected = lh_compute_learning_rate(&toy.train, 0.01, t);
        lh_assert_close(&rate, &expected, 1, 1e-15, 0);
    }
    free(text);
    toy.train.schedule = (lh_schedule){0};
    run_toy(state, 0, "train --out constant --threads 1 --no-eval");
    size_t bytes, second_bytes;
    char *a = lh_test_read(lh_test_path(*state, FOLDER "/checkpoint.safetensors"), &bytes);
    char *b = lh_test_read(lh_test_path(*state, "constant/" FOLDER "/checkpoint.safetensors"), &second_bytes);
    assert_int_equal(bytes, second_bytes);
    assert_memory_not_equal(a, b, bytes);
    free(a);
    free(b);
}

static void test_info_prints_the_schedule(void **state) {
    lh_run_result result = run_toy(state, 0, "info");
    assert_non_null(
        strstr(result.out, "learning rate: cosine, to 0.1 times the highest rate, after 6 steps of warm-up"));
    toy.train.schedule = (lh_schedule){0};
    result = run_toy(state, 0, "info");
    assert_null(strstr(result.out, "warm-up"));
}

static void test_more_steps_than_the_schedule_are_refused(void **state) {
    lh_run_result result = run_toy(state, 1, "train --out . --threads 1 --no-eval --steps 21");
    assert_non_null(strstr(result.err, "expected: at most 20"));
    assert_false(lh_test_exists(lh_test_path(*state, "toy")));
}

#define WITH_SCHEDULE(test) cmocka_unit_test_setup_teardown(test, make_scheduled_toy, lh_test_remove_directory)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates_are_those_of_pytorch),
        cmocka_unit_test(test_rate_without_schedule_is_constant),
        cmocka_unit_test(test_rate_after_the_last_step_is_the_final_rate),
        cmocka_unit_test(test_steps_that_do_not_fit_a_schedule_are_refused),
        WITH_SCHEDULE(test_run_resumed_within_a_schedule_has_the_same_bits),
        WITH_SCHEDULE(test_rates_are_recorded_and_applied),
        WITH_SCHEDULE(test_info_prints_the_schedule),
        WITH_SCHEDULE(test_more_steps_than_the_schedule_are_refused),
    };
    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
