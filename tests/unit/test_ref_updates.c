/* kernels/ref, optimisers: updates computed by hand, and updates of PyTorch (tests/reference/optimizers.py). */
#include "lh_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "lh_differences.h"
#include "reference/vectors.h"

/* ---- Adam ---- */

static const lh_ref_adam ADAM = {.learning_rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .clip_norm = 1};

/* Two updates by hand. The gradients are 0.3, then -0.1. So the first moments are 0.03, then 0.017, and the second
 * moments are 9e-5, then 9.991e-5. */
static void test_two_steps_of_adam_match_values_by_hand(void **state) {
    double p = 2, first = 0, second = 0, g = 0.3, expected = 2 - 1e-3 * 0.3 / (0.3 + 1e-8);
    lh_ref_adam_update(&ADAM, 1, 0.3, 1, &g, &p, &first, &second);
    lh_assert_close(&p, &expected, 1, EXACT, 0);
    g = -0.1;
    expected -= 1e-3 * (0.017 / 0.19) / (sqrt(9.991e-5 / (1 - 0.998001)) + 1e-8);
    lh_ref_adam_update(&ADAM, 2, 0.1, 1, &g, &p, &first, &second);
    lh_assert_close(&p, &expected, 1, EXACT, 0);
}

static void test_adam_clips_a_long_gradient(void **state) {
    double g[] = {3, 4}, p[2] = {0}, first[2] = {0}, second[2] = {0};
    const double moment[] = {0.1 * 0.6, 0.1 * 0.8};
    lh_ref_adam_update(&ADAM, 1, 5, 2, g, p, first, second);
    lh_assert_close(first, moment, 2, EXACT, 0);
}

static void test_adam_clips_no_short_gradient_and_nothing_without_a_limit(void **state) {
    lh_ref_adam unlimited = ADAM;
    unlimited.clip_norm = 0;
    double g[] = {0.3, 0.4}, p[2] = {0}, first[2] = {0}, second[2] = {0};
    const double moment[] = {0.03, 0.04};
    lh_ref_adam_update(&ADAM, 1, 0.5, 2, g, p, first, second);
    lh_assert_close(first, moment, 2, EXACT, 0);
    memset(first, 0, sizeof first);
    lh_ref_adam_update(&unlimited, 1, 5, 2, g, p, first, second);
    lh_assert_close(first, moment, 2, EXACT, 0);
}

/* ---- AdamW, SGD ---- */

/* Stored updates of PyTorch: tests/reference/optimizers.py. */
enum { STORED_STEPS = 50, STORED_SIZE = 8 };
static const double STORED_RATE = 1e-2;

typedef struct stored_updates {
    lh_st_file *file;
    double *gradient, *parameter, state[2][STORED_SIZE];
} stored_updates;

static double *read_stored(const lh_st_file *file, const char *name, int expected) {
    int count = 0;
    double *values = lh_vectors_read_doubles(file, name, &count);
    assert_non_null(values);
    assert_int_equal(count, expected);
    return values;
}

static stored_updates open_updates(void) {
    lh_error error;
    stored_updates s = {0};
    lh_assert_ok(lh_st_read("tests/reference/optimizers.safetensors", &s.file, &error), &error);
    s.gradient = read_stored(s.file, "gradient", STORED_STEPS * STORED_SIZE);
    s.parameter = read_stored(s.file, "parameter", STORED_SIZE);
    return s;
}

static void close_updates(stored_updates *s) {
    free(s->gradient);
    free(s->parameter);
    lh_st_free(s->file);
}

/* Applies one update of the optimiser `name` to the parameters and the state of s. */
static void apply_update(const char *name, int step, double rate, const double *gradient, stored_updates *s) {
    const lh_ref_adam adam = {.learning_rate = rate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
    const lh_ref_sgd sgd = {.learning_rate = rate};
    double *p = s->parameter, *first = s->state[0], *second = s->state[1];
    if (strcmp(name, "adam") == 0) lh_ref_adam_update(&adam, step, 0, STORED_SIZE, gradient, p, first, second);
    else if (strcmp(name, "adamw") == 0)
        lh_ref_adamw_update(&adam, 0.1, step, 0, STORED_SIZE, gradient, p, first, second);
    else if (strcmp(name, "sgd") == 0) lh_ref_sgd_update(&sgd, 0, STORED_SIZE, gradient, p);
    else lh_ref_momentum_update(&sgd, 0.9, 0, STORED_SIZE, gradient, p, first);
}

/* Makes all steps, and compares the parameters after each step that is stored. The last step is always stored. rates:
 * name of the stored learning rates; NULL: a constant rate. stored: first part of the names of the stored
 * parameters. */
static void check_updates(const char *optimizer, const char *rates, const char *stored) {
    char name[64];
    stored_updates s = open_updates();
    double *rate = rates ? read_stored(s.file, rates, STORED_STEPS) : NULL;
    for (int step = 1; step <= STORED_STEPS; step++) {
        apply_update(optimizer, step, rate ? rate[step - 1] : STORED_RATE, s.gradient + (step - 1) * STORED_SIZE, &s);
        snprintf(name, sizeof name, "%s.%d", stored, step);
        if (!lh_st_find(s.file, name)) continue;
        double *expected = read_stored(s.file, name, STORED_SIZE);
        lh_assert_close(s.parameter, expected, STORED_SIZE, 1e-13, 1e-13);
        free(expected);
    }
    assert_non_null(lh_st_find(s.file, name)); /* the last step was compared */
    free(rate);
    close_updates(&s);
}

static void test_updates_are_those_of_pytorch(void **state) {
    static const char *const names[] = {"adam", "adamw", "sgd", "momentum"};
    for (int i = 0; i < 4; i++) check_updates(names[i], NULL, names[i]);
    check_updates("momentum", "rate.cosine", "momentum_cosine");
}

static void test_sgd_clips_a_long_gradient(void **state) {
    const lh_ref_sgd sgd = {.learning_rate = 0.5, .clip_norm = 1};
    double g[] = {3, 4}, p[2] = {0}, q[2] = {0}, state_of_q[2] = {0};
    const double expected[] = {-0.3, -0.4}, expected_state[] = {0.6, 0.8};
    lh_ref_sgd_update(&sgd, 5, 2, g, p);
    lh_ref_momentum_update(&sgd, 0.9, 5, 2, g, q, state_of_q);
    lh_assert_close(p, expected, 2, EXACT, 0);
    lh_assert_close(q, expected, 2, EXACT, 0);
    lh_assert_close(state_of_q, expected_state, 2, EXACT, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_steps_of_adam_match_values_by_hand),
        cmocka_unit_test(test_adam_clips_a_long_gradient),
        cmocka_unit_test(test_adam_clips_no_short_gradient_and_nothing_without_a_limit),
        cmocka_unit_test(test_updates_are_those_of_pytorch),
        cmocka_unit_test(test_sgd_clips_a_long_gradient),
    };
    return cmocka_run_group_tests_name("ref_updates", tests, NULL, NULL);
}
