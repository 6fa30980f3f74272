/* kernels/cpu: the sums of gradients, and the updates of Adam, AdamW and SGD, compared with kernels/ref. */
#include "support/lh_kernels.h"

#include "base/cpu_level.h"
#include "kernels/cpu/adamw.h"
#include "kernels/cpu/sgd.h"
#include "kernels/ref/ref.h"

/* ---- gradient.h ---- */

/* Vectors have COUNT elements. Updates change only elements FIRST .. FIRST + UPDATED_COUNT - 1. */
enum { COUNT = 8 * LANES, FIRST = 2 * LANES, UPDATED_COUNT = 4 * LANES };

static void test_fold_gradient_adds_and_clears(void **state) {
    real *total = make_random_reals(1, COUNT, COUNT), *original = make_random_reals(1, COUNT, COUNT);
    real *shard = make_random_reals(2, COUNT, COUNT), *added = make_random_reals(2, COUNT, COUNT);
    fold_gradient(total, shard, COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_true(total[i] == original[i] + added[i]);
        assert_true(shard[i] == 0);
    }
    free_all(total, original, shard, added);
}

static void test_sum_of_squares_matches_plain_sum(void **state) {
    real *x = make_random_reals(1, COUNT, COUNT);
    double expected = 0;
    for (int i = 0; i < COUNT; i++) expected += (double)x[i] * x[i];
    double actual = sum_of_squares(x, COUNT);
    lh_assert_close(&actual, &expected, 1, sum_tolerance(COUNT), 0);
    free(x);
}

/* ---- adam.h ---- */

static void test_adam_update_of_a_part_matches_reference(void **state) {
    const lh_ref_adam reference = {.learning_rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
    real *p = make_random_reals(1, COUNT, COUNT), *g = make_random_reals(2, COUNT, COUNT);
    real *m = make_random_reals(3, COUNT, COUNT), *v = make_random_reals(4, COUNT, COUNT),
         *old_values = make_random_reals(1, COUNT, COUNT);
    for (int i = 0; i < COUNT; i++) v[i] = v[i] * v[i] + (real)0.01;
    double *p_expected = to_doubles(p, COUNT), *g_wide = to_doubles(g, COUNT), *m_expected = to_doubles(m, COUNT);
    double *v_expected = to_doubles(v, COUNT), squares[2] = {0, 0};
    const lh_update u = {
        .parameters = p, .state = {m, v}, .gradient = g, .learning_rate = reference.learning_rate, .step = 5};
    lh_update_sums sums = {0, 0};
    adam_update(&u, (adam){0.9, 0.999, 1e-8}, 0.5, FIRST, UPDATED_COUNT, &sums); /* 0.5: scale of a clipped gradient */
    for (int i = 0; i < COUNT; i++) g_wide[i] *= 0.5;
    lh_ref_adam_update(&reference, 5, 0, UPDATED_COUNT, g_wide + FIRST, p_expected + FIRST, m_expected + FIRST,
                       v_expected + FIRST);
    check_close(p, p_expected, COUNT, sum_tolerance(0));
    check_close(m, m_expected, COUNT, sum_tolerance(0));
    check_close(v, v_expected, COUNT, sum_tolerance(0));
    for (int i = 0; i < COUNT; i++) assert_true((g[i] == 0) == (i >= FIRST && i < FIRST + UPDATED_COUNT));
    for (int i = FIRST; i < FIRST + UPDATED_COUNT; i++) {
        squares[0] += p_expected[i] * p_expected[i];
        squares[1] += (p_expected[i] - old_values[i]) * (p_expected[i] - old_values[i]);
    }
    lh_assert_close(&sums.parameters, &squares[0], 1, sum_tolerance(UPDATED_COUNT), 0);
    lh_assert_close(&sums.update, &squares[1], 1, sum_tolerance(UPDATED_COUNT) + 1e-12, 0); /* cancellation */
    free_all(p, g, m, v, old_values, p_expected, g_wide, m_expected, v_expected);
}

/* The first step starts with m = v = 0. So m becomes (1 - beta1) times the gradient, and v becomes (1 - beta2) times
 * the square of the gradient. The bias corrections divide by 1 - beta1 and by 1 - beta2, so every element whose
 * gradient is not 0 moves by the learning rate. */
static void test_adam_first_step_moves_every_element_by_the_learning_rate(void **state) {
    real *p = make_random_reals(1, COUNT, COUNT), *g = make_random_reals(2, COUNT, COUNT);
    real *m = make_random_reals(3, COUNT, COUNT), *v = make_random_reals(4, COUNT, COUNT);
    double expected[COUNT];
    for (int i = 0; i < COUNT; i++) {
        p[i] = m[i] = v[i] = 0;
        expected[i] = -1e-3 * g[i] / (fabs((double)g[i]) + 1e-8);
    }
    lh_update_sums sums = {0, 0};
    const lh_update u = {.parameters = p, .state = {m, v}, .gradient = g, .learning_rate = 1e-3, .step = 1};
    adam_update(&u, (adam){0.9, 0.999, 1e-8}, 1, 0, COUNT, &sums);
    double *actual = to_doubles(p, COUNT);
    lh_assert_close(actual, expected, COUNT, REAL_BYTES == 8 ? 1e-13 : 5e-7, 0);
    free_all(p, g, m, v, actual);
}

/* ---- adamw.h, sgd.h ---- */

enum { STEPS = 50 };

typedef enum rule { ADAMW, SGD, MOMENTUM } rule;

/* Parameters p, their gradient g and the optimiser's state, which a kernel updates. The copies in double are updated by
 * kernels/ref. */
typedef struct updated_vector {
    real *p, *g, *state[2];
    double *p_wide, *state_wide[2];
} updated_vector;

static updated_vector new_updated_vector(void) {
    updated_vector u = {.p = make_random_reals(1, COUNT, COUNT), .g = make_random_reals(2, COUNT, COUNT)};
    u.p_wide = to_doubles(u.p, COUNT);
    for (int i = 0; i < 2; i++) {
        u.state[i] = make_random_reals(3, COUNT, COUNT);
        for (int e = 0; e < COUNT; e++) u.state[i][e] = 0;
        u.state_wide[i] = to_doubles(u.state[i], COUNT);
    }
    return u;
}

/* Ranges of elements that do not decay: a single element, two elements on both sides of a border between vectors, and
 * the last element, which no update changes. */
static const element_range NOT_DECAYED[] = {
    {FIRST + 1, FIRST + 1}, {FIRST + LANES - 1, FIRST + LANES}, {COUNT - 1, COUNT}};

static bool is_not_decayed(int e) {
    return e == FIRST + 1 || e == FIRST + LANES - 1 || e == FIRST + LANES || e >= COUNT - 1;
}

/* Updates elements FIRST .. FIRST + UPDATED_COUNT - 1 by the kernel, and their copies in double by kernels/ref. */
static void update_both(rule update_rule, int step, const updated_vector *u, lh_update_sums *sums) {
    const lh_ref_adam adam_settings = {.learning_rate = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
    const lh_ref_sgd sgd = {.learning_rate = 1e-2};
    const lh_update update = {
        .parameters = u->p, .state = {u->state[0], u->state[1]}, .gradient = u->g, .learning_rate = 1e-2, .step = step};
    double *g = to_doubles(u->g, COUNT);
    real decays[UPDATED_COUNT]; /* learning rate times decay; 0: the element does not decay */
    for (int e = FIRST; e < FIRST + UPDATED_COUNT; e++) {
        double clipped = 0.5 * g[e], *p = u->p_wide + e, *moment = u->state_wide[0] + e;
        if (update_rule == SGD) lh_ref_sgd_update(&sgd, 0, 1, &clipped, p);
        else if (update_rule == MOMENTUM) lh_ref_momentum_update(&sgd, 0.9, 0, 1, &clipped, p, moment);
        else
            lh_ref_adamw_update(&adam_settings, is_not_decayed(e) ? 0 : 0.1, step, 0, 1, &clipped, p, moment,
                                u->state_wide[1] + e);
    }
    spread_decay(1e-2 * 0.1, NOT_DECAYED, 3, FIRST, UPDATED_COUNT, decays);
    if (update_rule == SGD) sgd_update(&update, 0.5, FIRST, UPDATED_COUNT, sums);
    else if (update_rule == MOMENTUM) momentum_update(&update, 0.9, 0.5, FIRST, UPDATED_COUNT, sums);
    else adamw_update(&update, (adam){0.9, 0.999, 1e-8}, decays, 0.5, FIRST, UPDATED_COUNT, sums);
    free(g);
}

/* Checks each of many steps. Each step rounds parameters and moments, so the tolerance grows with the step. */
static void check_updates(rule update_rule, int state_count) {
    updated_vector u = new_updated_vector();
    for (int step = 1; step <= STEPS; step++) {
        lh_update_sums sums = {0, 0};
        double *old_parameters = to_doubles(u.p, COUNT), squares[2] = {0, 0};
        real *next_gradient = make_random_reals(10 + (uint64_t)step, COUNT, COUNT);
        for (int i = 0; i < COUNT; i++)
            u.g[i] = next_gradient[i] * (step % 5 == 0 ? 20 : 1); /* every fifth gradient is larger */
        update_both(update_rule, step, &u, &sums);
        for (int i = 0; i < COUNT; i++) assert_true((u.g[i] == 0) == (i >= FIRST && i < FIRST + UPDATED_COUNT));
        check_close(u.p, u.p_wide, COUNT, 4 * step * sum_tolerance(0));
        for (int i = 0; i < state_count; i++)
            check_close(u.state[i], u.state_wide[i], COUNT, 4 * step * sum_tolerance(0));
        for (int i = FIRST; i < FIRST + UPDATED_COUNT; i++) {
            squares[0] += (double)u.p[i] * u.p[i];
            squares[1] += (u.p[i] - old_parameters[i]) * (u.p[i] - old_parameters[i]);
        }
        lh_assert_close(&sums.parameters, &squares[0], 1, sum_tolerance(UPDATED_COUNT), 0);
        lh_assert_close(&sums.update, &squares[1], 1, 1e3 * sum_tolerance(UPDATED_COUNT),
                        1e-12); /* the difference cancels */
        free_all(old_parameters, next_gradient);
    }
    free_all(u.p, u.g, u.state[0], u.state[1], u.p_wide, u.state_wide[0], u.state_wide[1]);
}

static void test_adamw_updates_match_reference(void **state) { check_updates(ADAMW, 2); }

static void test_sgd_updates_match_reference(void **state) {
    check_updates(SGD, 0);
    check_updates(MOMENTUM, 1);
}

static const struct CMUnitTest TESTS[] = {
    cmocka_unit_test(test_fold_gradient_adds_and_clears),
    cmocka_unit_test(test_sum_of_squares_matches_plain_sum),
    cmocka_unit_test(test_adam_update_of_a_part_matches_reference),
    cmocka_unit_test(test_adam_first_step_moves_every_element_by_the_learning_rate),
    cmocka_unit_test(test_adamw_updates_match_reference),
    cmocka_unit_test(test_sgd_updates_match_reference),
};

int main(void) {
    if (!lh_level_is_supported(LH_LEVEL_NAME)) {
        print_message("updates: skipped, this machine does not run %s\n", LH_LEVEL_NAME);
        return 0;
    }
    return cmocka_run_group_tests_name(
        REAL_BYTES == 8 ? "updates " LH_LEVEL_NAME " float64" : "updates " LH_LEVEL_NAME " float32", TESTS, NULL, NULL);
}
