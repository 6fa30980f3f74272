/* kernels/cpu/stick.h compared with kernels/ref, each pair within its own rounding errors. */
#include "support/lh_kernels.h"

#include "base/cpu_level.h"
#include "kernels/cpu/stick.h"
#include "kernels/ref/ref.h"

enum { MAX_KEYS = 2 * SIDE_BY_SIDE + 3 };

static const bits NO_LANES = {0};

static double compute_sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }

static void check_element(double actual, double expected, double allowed) {
    if (!(fabs(actual - expected) <= allowed)) lh_assert_close(&actual, &expected, 1, 0, allowed);
}

/* The tolerance for x <= 1. The reference computes x as exp of a sum, so the relative error of x grows with the
 * magnitude of this sum, |log x|. */
static double compute_tolerance(double rounding, double x) { return x > 0 ? (rounding - 4 * 0x1p-52 * log(x)) * x : 0; }

/* Compares one lane with the reference. The lane has a query that follows T keys. */
static void check_lane(int T, const real *logits, const real *dweights, const real *weights, const real *dlogits,
                       double remainder) {
    const double rounding = sum_tolerance(2 * T), negligible = 4 * (double)LEAST_CHANCE;
    const lh_ref_stick shape = {.tokens = T + 1};
    double logit[MAX_KEYS + 1] = {0}, weight[MAX_KEYS + 1], dweight[MAX_KEYS + 1] = {0}, dlogit[MAX_KEYS + 1];
    for (int j = 0; j < T; j++) {
        logit[j] = logits[j * LANES];
        dweight[j] = dweights[j * LANES];
    }
    double expected_rest = lh_ref_stick_row(&shape, T, logit, weight);
    lh_ref_stick_row_grad(&shape, T, logit, dweight, 1, dlogit);
    check_element(remainder, expected_rest, compute_tolerance(rounding, expected_rest) + negligible);
    /* error of the sum of the rest and the gains of farther keys */
    double farther_error = compute_tolerance(rounding, expected_rest);
    for (int j = 0; j < T; j++) {
        double gain = fabs(dweight[j]) * compute_tolerance(rounding, weight[j]);
        double error = gain * compute_sigmoid(-logit[j]) + farther_error * compute_sigmoid(logit[j]);
        check_element(weights[j * LANES], weight[j], compute_tolerance(rounding, weight[j]) + negligible);
        check_element(dlogits[j * LANES], dlogit[j], error + negligible);
        farther_error += gain;
    }
}

/* Compares weights and gradients for T keys; spread: factor of the random logits. */
static void check_keys(int T, double spread) {
    real *logits = make_random_reals((uint64_t)T, T * LANES, T * LANES);
    real *dweights = make_random_reals(7, T * LANES, T * LANES);
    real *weights = make_reals(T * LANES), *dlogits = make_reals(T * LANES);
    for (int e = 0; e < T * LANES; e++) logits[e] *= (real)spread;
    vector stick = broadcast(1), x[SIDE_BY_SIDE];
    int j = T;
    for (; j >= SIDE_BY_SIDE; j -= SIDE_BY_SIDE) {
        for (int u = 0; u < SIDE_BY_SIDE; u++) x[u] = load(logits + (j - SIDE_BY_SIDE + u) * LANES);
        stick = break_stick(SIDE_BY_SIDE, x, ~NO_LANES, stick, weights + (j - SIDE_BY_SIDE) * LANES);
    }
    for (; j > 0; j--) {
        x[0] = load(logits + (j - 1) * LANES);
        stick = break_stick(1, x, ~NO_LANES, stick, weights + (j - 1) * LANES);
    }
    vector remainder = remaining_stick(stick), farther = remainder;
    for (j = 0; j < T; j++) {
        vector gain = load(weights + j * LANES) * load(dweights + j * LANES);
        store(dlogits + j * LANES, stick_grad(load(logits + j * LANES), ~NO_LANES, gain, farther));
        farther += gain;
    }
    for (int a = 0; a < LANES; a++) check_lane(T, logits + a, dweights + a, weights + a, dlogits + a, remainder[a]);
    free_all(logits, dweights, weights, dlogits);
}

/* Logits range from values near 0 to values for which the nearest key gets the whole stick, or none of it. */
static void test_keys_of_any_number_match_reference(void **state) {
    static const double spreads[] = {0.1, 3, 12, 50};
    for (int T = 1; T <= MAX_KEYS; T++)
        for (int spread_index = 0; spread_index < 4; spread_index++) check_keys(T, spreads[spread_index]);
}

/* A key takes no part of the stick of a query that does not see it, and gets no gradient. */
static void test_unseen_key_changes_nothing(void **state) {
    const bits sees = lanes_before(1);
    vector x = broadcast(1), old_rest = broadcast((real)0.5), full_stick = broadcast(1);
    real weight[LANES];
    vector new_rest = break_stick(1, &x, sees, old_rest, weight);
    vector dlogit = stick_grad(x, sees, keep_where(sees, full_stick), full_stick);
    for (int a = 0; a < LANES; a++) {
        assert_true((weight[a] > 0) == (a < 1));
        assert_true((new_rest[a] < old_rest[a]) == (a < 1));
        assert_true((dlogit[a] != 0) == (a < 1));
    }
}

static const struct CMUnitTest TESTS[] = {
    cmocka_unit_test(test_keys_of_any_number_match_reference),
    cmocka_unit_test(test_unseen_key_changes_nothing),
};

int main(void) {
    if (!lh_level_is_supported(LH_LEVEL_NAME)) {
        print_message("stick: skipped, this machine does not run %s\n", LH_LEVEL_NAME);
        return 0;
    }
    return cmocka_run_group_tests_name(
        REAL_BYTES == 8 ? "stick " LH_LEVEL_NAME " float64" : "stick " LH_LEVEL_NAME " float32", TESTS, NULL, NULL);
}
