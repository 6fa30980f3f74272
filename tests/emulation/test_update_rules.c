/* The update rules of kernels/cuda in the emulation, compared with kernels/ref in double: sums of gradients, norms, and
 * the updates of Adam, AdamW and SGD. */
#include "operation_arrays.h"

/* The order of the sum is part of the interface: bits equal those of a left fold. */
static void check_fold(const precision *p, int shards, int count, int blocks) {
    long long stride = (long long)(count + 8) * p->real_bytes;
    char *parts = reserve((size_t)(shards * stride));
    void *expected = reserve((size_t)((count + 4) * p->real_bytes)),
         *total = reserve((size_t)((count + 4) * p->real_bytes));
    for (int s = 0; s < shards; s++) {
        double *x = make_numbers(count, 20 + (uint64_t)s);
        void *sums = parts + s * stride;
        for (int i = 0; i < count; i++) set_real(p, sums, i, x[i]);
        for (int i = 0; i < count; i++)
            set_real(p, expected, i, s > 0 ? lh_real_read(expected, p->real_bytes, i) + x[i] : x[i]);
        free(x);
    }
    launch(p, "fold", blocks, (void *[]){&shards, &parts, &stride, &count, &total});
    assert_memory_equal(total, expected, (size_t)((count + 4) * p->real_bytes));
    FREE(parts, expected, total);
}

static void test_fold_has_the_bits_of_a_left_fold(void **state) {
    static const int shards[] = {1, 2, 8, 9, 19}, counts[] = {4, 1020, 1024, 5000};
    for (int i = 0; i < EXACT_PRECISIONS * 5 * 4; i++)
        check_fold(&PRECISIONS[i % 2], shards[i / 2 % 5], counts[i / 10], 1 + i % 3);
}

static void test_squares_of_pieces_match_plain_sums(void **state) {
    for (int i = 0; i < EXACT_PRECISIONS; i++) {
        enum { PIECES = 5 };
        int pieces = PIECES;
        double *x = make_numbers(PIECES * PIECE, 9), expected[PIECES] = {0}, *squares = reserve_doubles(PIECES);
        void *in = to_reals(&PRECISIONS[i], PIECES * PIECE, x);
        for (int e = 0; e < PIECES * PIECE; e++) expected[e / PIECE] += x[e] * x[e];
        launch(&PRECISIONS[i], "squares", 1, (void *[]){&pieces, &in, &squares});
        lh_assert_close(squares, expected, PIECES, PIECE * 0x1p-53, 0);
        FREE(x, squares, in);
    }
}

static void test_totals_are_the_same_in_all_threads(void **state) {
    static const int counts[] = {1, 5, 256, 300}, strides[] = {1, 5};
    for (int i = 0; i < 4 * 2; i++) {
        int count = counts[i % 4], stride = strides[i / 4];
        double *x = make_numbers(count * stride, 9), expected = 0, *total = reserve_doubles(THREADS);
        for (int e = 0; e < count; e++) expected += x[e * stride];
        launch(&PRECISIONS[i % EXACT_PRECISIONS], "total", 1, (void *[]){&count, &stride, &x, &total});
        for (int t = 1; t < THREADS; t++) assert_true(total[t] == total[0]);
        lh_assert_close(total, &expected, 1, 0, count * count * 0x1p-53);
        FREE(x, total);
    }
}

/* Three updates of a piece; the first gradient is clipped. */
static void check_adam(const precision *p) {
    const lh_ref_adam adam = {.learning_rate = 3e-4, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .clip_norm = 1};
    double *parameter = make_numbers(PIECE, 10), *first = reserve_doubles(PIECE), *second = reserve_doubles(PIECE);
    memset(first, 0, PIECE * sizeof *first);
    memset(second, 0, PIECE * sizeof *second);
    void *in = to_reals(p, PIECE, parameter), *moment1 = to_reals(p, PIECE, first),
         *moment2 = to_reals(p, PIECE, second);
    for (int step = 1; step <= 3; step++) {
        static const double scales[] = {1, 1e-3, 1e-2};
        double *gradient = make_numbers(PIECE, 10 + (uint64_t)step), *old_values = reserve_doubles(PIECE),
               squares[2] = {0};
        for (int i = 0; i < PIECE; i++) squares[0] += pow(gradient[i] = (float)(gradient[i] * scales[step - 1]), 2);
        double norm = sqrt(squares[0]), clip = fmin(1, adam.clip_norm / norm), sums[2], *out = sums;
        double rate = adam.learning_rate / (1 - pow(adam.beta1, step)), correct2 = 1 / (1 - pow(adam.beta2, step));
        void *in_gradient = to_reals(p, PIECE, gradient);
        memcpy(old_values, parameter, PIECE * sizeof *old_values);
        lh_ref_adam_update(&adam, step, norm, PIECE, gradient, parameter, first, second);
        launch(p, "adam", 1, (void *[]){&clip, &rate, &correct2, &in_gradient, &moment1, &moment2, &in, &out});
        squares[0] = 0;
        for (int i = 0; i < PIECE; i++) {
            squares[0] += parameter[i] * parameter[i];
            squares[1] += pow(parameter[i] - old_values[i], 2);
        }
        /* a parameter of at most 1 is rounded once per update, a change is about 1e-3; moments are below 1 */
        assert_close(p, in, parameter, PIECE, step * 1.1 * p->unit);
        assert_close(p, moment1, first, PIECE, 8 * p->unit);
        assert_close(p, moment2, second, PIECE, 0.02 * p->unit);
        lh_assert_close(sums, squares, 2, 1e3 * p->unit, 0);
        FREE(gradient, old_values, in_gradient);
    }
    FREE(parameter, first, second, in, moment1, moment2);
}

/* After the first step, m is (1 - beta1) times the gradient, v (1 - beta2) times its square; the corrections divide by
 * these factors. */
static void check_first_step(const precision *p) {
    double *gradient = make_numbers(PIECE, 20), *zeros = reserve_doubles(PIECE), *expected = reserve_doubles(PIECE),
           *actual = reserve_doubles(PIECE);
    double clip = 1, rate = 1e-3 / (1 - 0.9), correct2 = 1 / (1 - 0.999), sums[2], *out = sums;
    memset(zeros, 0, PIECE * sizeof *zeros);
    for (int i = 0; i < PIECE; i++) {
        gradient[i] = (float)gradient[i];
        expected[i] = -1e-3 * gradient[i] / (fabs(gradient[i]) + 1e-8);
    }
    void *in = to_reals(p, PIECE, zeros), *moment1 = to_reals(p, PIECE, zeros), *moment2 = to_reals(p, PIECE, zeros);
    void *in_gradient = to_reals(p, PIECE, gradient);
    launch(p, "adam", 1, (void *[]){&clip, &rate, &correct2, &in_gradient, &moment1, &moment2, &in, &out});
    for (int i = 0; i < PIECE; i++) actual[i] = lh_real_read(in, p->real_bytes, i);
    lh_assert_close(actual, expected, PIECE, p->real_bytes == 8 ? 1e-13 : 5e-7, 0);
    FREE(gradient, zeros, expected, actual, in, moment1, moment2, in_gradient);
}

static void test_first_step_is_the_rate_of_every_gradient(void **state) {
    for (int i = 0; i < EXACT_PRECISIONS; i++) check_first_step(&PRECISIONS[i]);
}

static void test_three_updates_are_those_of_the_reference(void **state) {
    for (int i = 0; i < EXACT_PRECISIONS; i++) check_adam(&PRECISIONS[i]);
}

typedef enum rule { ADAMW, SGD, MOMENTUM } rule;

static void update_by_reference(rule update_rule, int step, double rate, double norm, const double *g, double *p,
                                double *state[2]) {
    const lh_ref_adam adam = {.learning_rate = rate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .clip_norm = 1};
    const lh_ref_sgd sgd = {.learning_rate = rate, .clip_norm = 1};
    if (update_rule == SGD) lh_ref_sgd_update(&sgd, norm, PIECE, g, p);
    if (update_rule == MOMENTUM) lh_ref_momentum_update(&sgd, 0.9, norm, PIECE, g, p, state[0]);
    for (int i = 0; update_rule == ADAMW && i < PIECE; i++)
        lh_ref_adamw_update(&adam, i % 3 == 0 ? 0 : 0.1, step, norm, 1, g + i, p + i, state[0] + i, state[1] + i);
}

static void update_on_device(const precision *p, rule update_rule, int step, double rate, double clip, void *vectors[4],
                             double *sums) {
    double corrected_rate = rate / (1 - pow(0.9, step)), correct2 = 1 / (1 - pow(0.999, step)), decay = rate * 0.1;
    void **g = &vectors[0], **q = &vectors[1], **first = &vectors[2], **second = &vectors[3];
    if (update_rule == ADAMW)
        launch(p, "adamw", 1, (void *[]){&clip, &corrected_rate, &correct2, &decay, g, first, second, q, &sums});
    else if (update_rule == SGD) launch(p, "sgd", 1, (void *[]){&clip, &rate, g, q, &sums});
    else launch(p, "momentum", 1, (void *[]){&clip, &rate, g, first, q, &sums});
}

/* Makes this number of updates of a piece, with a falling learning rate; every third gradient is clipped. */
static void check_rule(const precision *p, rule update_rule, int updates) {
    double *parameter = make_numbers(PIECE, 10), *state[2] = {reserve_doubles(PIECE), reserve_doubles(PIECE)};
    for (int i = 0; i < 2; i++) memset(state[i], 0, PIECE * sizeof *state[i]);
    void *in = to_reals(p, PIECE, parameter), *first = to_reals(p, PIECE, state[0]),
         *second = to_reals(p, PIECE, state[1]);
    for (int step = 1; step <= updates; step++) {
        double *gradient = make_numbers(PIECE, 10 + (uint64_t)step), *old_values = reserve_doubles(PIECE),
               squares[2] = {0}, sums[2];
        double rate = 1e-2 / step, scale = step % 3 == 0 ? 1 : 1e-2, expected_sums[2] = {0};
        for (int i = 0; i < PIECE; i++) squares[0] += pow(gradient[i] = (float)(gradient[i] * scale), 2);
        double norm = sqrt(squares[0]), clip = fmin(1, 1 / norm);
        void *in_gradient = to_reals(p, PIECE, gradient);
        memcpy(old_values, parameter, PIECE * sizeof *old_values);
        update_by_reference(update_rule, step, rate, norm, gradient, parameter, state);
        update_on_device(p, update_rule, step, rate, clip, (void *[]){in_gradient, in, first, second}, sums);
        for (int i = 0; i < PIECE; i++) {
            expected_sums[0] += parameter[i] * parameter[i];
            expected_sums[1] += pow(parameter[i] - old_values[i], 2);
        }
        /* a parameter near 1 is rounded once per update, and so are sums and moments below 1 */
        assert_close(p, in, parameter, PIECE, (step + 4) * 1.5 * p->unit);
        if (update_rule != SGD) assert_close(p, first, state[0], PIECE, 8 * p->unit);
        if (update_rule == ADAMW) assert_close(p, second, state[1], PIECE, 0.1 * p->unit);
        lh_assert_close(&sums[0], &expected_sums[0], 1, 1e3 * p->unit, 0);
        lh_assert_close(&sums[1], &expected_sums[1], 1, 1e6 * p->unit,
                        0); /* the difference of parameters has cancellation */
        FREE(gradient, old_values, in_gradient);
    }
    FREE(parameter, state[0], state[1], in, first, second);
}

static void test_fifty_updates_of_each_rule_are_those_of_the_reference(void **state) {
    for (rule update_rule = ADAMW; update_rule <= MOMENTUM; update_rule++) {
        check_rule(&PRECISIONS[0], update_rule, 2);
        check_rule(&PRECISIONS[1], update_rule, 50);
    }
}

static void test_integer_powers_are_those_of_the_host(void **state) {
    double base = 0.9, out[THREADS], *to = out;
    launch(&PRECISIONS[1], "power", 1, (void *[]){&base, &to});
    for (int n = 0; n < THREADS; n++) assert_true(out[n] == lh_power(base, n));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold_has_the_bits_of_a_left_fold),
        cmocka_unit_test(test_squares_of_pieces_match_plain_sums),
        cmocka_unit_test(test_totals_are_the_same_in_all_threads),
        cmocka_unit_test(test_first_step_is_the_rate_of_every_gradient),
        cmocka_unit_test(test_three_updates_are_those_of_the_reference),
        cmocka_unit_test(test_fifty_updates_of_each_rule_are_those_of_the_reference),
        cmocka_unit_test(test_integer_powers_are_those_of_the_host),
    };
    return cmocka_run_group_tests_name("update rules", tests, NULL, NULL);
}
