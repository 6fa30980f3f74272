/* Compares kernels/cpu/geometric.h with kernels/ref. For each pair of a query and a key, the difference must be within
 * the rounding errors of this pair. */
#include "support/lh_kernels.h"

#include "base/cpu_level.h"
#include "kernels/cpu/geometric.h"
#include "kernels/ref/ref.h"

enum { MAX_TOKENS = 3 * LANES + 5 };

static const int TOKENS[] = {1, 2, 3, LANES, LANES + 1, 2 * LANES + 3, MAX_TOKENS};
enum { TOKENS_COUNT = sizeof TOKENS / sizeof *TOKENS };

static double compute_sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }

/* ---- one pair ---- */

/* For float, the tolerance includes the effect of an error of about half an ulp in the logit. */
static void check_chance(vector actual, int lane, double logit, double expected) {
    const double value = actual[lane], allowed = REAL_BYTES == 8 ? 8e-16 : 3e-7 + 8e-8 * fabs(logit);
    if (!(fabs(value - expected) <= allowed * expected)) lh_assert_close(&value, &expected, 1, allowed, 0);
}

static void test_chances_have_small_relative_errors_in_their_whole_range(void **state) {
    const double max_logit = REAL_BYTES == 8 ? 700 : 57.9;
    for (int i = 0; i < 200000; i++) {
        real logit = (real)(max_logit * (i - 100000) / 100000 * (i % 2 ? 1 : 1e-3));
        vector x = broadcast(logit), match, miss, grad_factor;
        compute_chances(1, &x, &match, &miss, &grad_factor);
        check_chance(match, i % LANES, logit, compute_sigmoid(logit));
        check_chance(miss, i % LANES, logit, compute_sigmoid(-(double)logit));
        check_chance(abs_of(grad_factor), i % LANES, logit, compute_sigmoid(-fabs(logit)));
        assert_true((grad_factor[0] < 0) == (logit < 0));
    }
}

static void test_infinite_logits_give_chances_0_and_1_and_nan_gives_nan(void **state) {
    vector x = broadcast((real)-INFINITY), match, miss, grad_factor;
    compute_chances(1, &x, &match, &miss, &grad_factor);
    assert_true(match[0] < 1e-25 && miss[0] == 1);
    x = broadcast((real)INFINITY);
    compute_chances(1, &x, &match, &miss, &grad_factor);
    assert_true(match[0] == 1 && miss[0] < 1e-25);
    for (real_bits nan_bit = 1; nan_bit <= 512; nan_bit *= 2) {
        x = (vector)((bits)broadcast((real)NAN) | (nan_bit - 1) | nan_bit);
        compute_chances(1, &x, &match, &miss, &grad_factor);
        assert_true(isnan(match[0]) && isnan(miss[LANES - 1]) && isnan(grad_factor[0]));
    }
}

/* ---- mirrored rows ---- */

static int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

/* margin: 1 if there is a row before the first and after the last key, else 0. */
static void check_mirror(int T, int first, int margin) {
    real *rows = make_reals((T + 2) * LANES), *mirrored = make_reals((T + 1 + LANES) * LANES);
    for (int j = -1; j <= T; j++)
        for (int a = 0; a < LANES; a++) rows[(j + 1) * LANES + a] = (real)(j * LANES + a);
    mirror_rows(first, -margin, T, -margin, T - 1 + margin, rows + LANES, mirrored + LANES);
    for (int r = -margin; r < T; r++) {
        for (int a = 0; a < LANES; a++) {
            int from = clamp(2 * (first + a) - r, -margin, T - 1 + margin);
            assert_true(mirrored[(r + 1) * LANES + a] == from * LANES + a);
        }
    }
    free_all(rows, mirrored);
}

static void test_mirrored_rows_of_any_length_are_exact(void **state) {
    for (int T = 1; T <= MAX_TOKENS; T++)
        for (int first = 0; first < T; first += LANES)
            for (int margin = 0; margin <= 1; margin++) check_mirror(T, first, margin);
}

/* ---- a row ---- */

/* The rows of one query, in double; size: sums of the magnitudes of all terms of dlogit. */
typedef struct row {
    double logit[MAX_TOKENS], weight[MAX_TOKENS], dweight[MAX_TOKENS], dlogit[MAX_TOKENS], size[MAX_TOKENS];
} row;

/* Computes the row of query i. The gradient of key m has a term for m and one for each key considered after m. */
static void fill_row(row *r, int T, int i, const real *logits, const real *dweights) {
    for (int j = 0; j < T; j++) {
        r->logit[j] = logits[j * LANES];
        r->dweight[j] = dweights[j * LANES];
    }
    lh_ref_geometric_row(T, i, r->logit, r->weight);
    lh_ref_geometric_row_grad(T, i, r->logit, r->weight, r->dweight, r->dlogit);
    for (int m = 0; m < T; m++) {
        r->size[m] = fabs(r->dweight[m]) * r->weight[m] * compute_sigmoid(-r->logit[m]);
        for (int j = 0; j < T; j++) {
            int distance = abs(i - j), distance_of_m = abs(i - m);
            bool is_after_m = distance > distance_of_m || (distance == distance_of_m && j < m);
            if (m != i && is_after_m) r->size[m] += fabs(r->dweight[j]) * r->weight[j] * compute_sigmoid(r->logit[m]);
        }
    }
}

static void check_element(double actual, double expected, double allowed) {
    if (!(fabs(actual - expected) <= allowed)) lh_assert_close(&actual, &expected, 1, 0, allowed);
}

/* Compares the weights and gradients of LANES queries, from `first` on, with the reference's; spread: factor of the
 * random logits. sums_along and sums_across are `remaining`, later `sums`, and `mirrored` of geometric.h. */
static void check_group(int T, int first, double spread) {
    const double rounding = sum_tolerance(2 * T), negligible = 4 * (double)LEAST_CHANCE;
    real *logits = make_random_reals((uint64_t)(T * MAX_TOKENS + first), T * LANES, T * LANES);
    real *dweights = make_random_reals(7, T * LANES, T * LANES), *weights = make_reals(T * LANES),
         *grad_factor = make_reals(T * LANES);
    real *dlogits = make_reals(T * LANES), *sums_along = make_reals((T + 2) * LANES),
         *sums_across = make_reals((T + 1 + LANES) * LANES);
    for (int e = 0; e < T * LANES; e++) weights[e] = logits[e] *= (real)spread;
    vector right_sum, left_sum,
        total = weigh_outwards(T, first, weights, grad_factor, sums_along + LANES, sums_across + LANES);
    for (int e = 0; e < T * LANES; e++) dlogits[e] = weights[e] * dweights[e];
    write_dlogits(T, first, grad_factor, dlogits, sums_along + LANES, sums_across + LANES, &right_sum, &left_sum);
    for (int a = 0; a < LANES && first + a < T; a++) {
        const int i = first + a;
        row r;
        double sum = 0, size = 0;
        double side_sums[2] = {0}; /* sums of dlogit to the right and to the left */
        fill_row(&r, T, i, logits + a, dweights + a);
        for (int j = 0; j < T; j++) {
            check_element(weights[j * LANES + a], r.weight[j], rounding * r.weight[j] + negligible);
            check_element(dlogits[j * LANES + a], r.dlogit[j], rounding * r.size[j] + negligible);
            sum += weights[j * LANES + a];
            side_sums[j < i] += r.dlogit[j];
            size += r.size[j];
        }
        assert_true(weights[i * LANES + a] == 0 && dlogits[i * LANES + a] == 0);
        check_element(total[a], sum, rounding * sum);
        check_element(right_sum[a], side_sums[0], rounding * size + T * negligible);
        check_element(left_sum[a], side_sums[1], rounding * size + T * negligible);
    }
    free_all(logits, dweights, weights, grad_factor, dlogits, sums_along, sums_across);
}

/* Logits range from values near 0 to values for which the nearest key has all weight. */
static void test_group_of_any_length_matches_reference(void **state) {
    static const double spreads[] = {0.1, 3, 12, 50};
    for (int i = 0; i < TOKENS_COUNT; i++)
        for (int first = 0; first < TOKENS[i]; first += LANES)
            for (int spread_index = 0; spread_index < 4; spread_index++)
                check_group(TOKENS[i], first, spreads[spread_index]);
}

static const struct CMUnitTest TESTS[] = {
    cmocka_unit_test(test_chances_have_small_relative_errors_in_their_whole_range),
    cmocka_unit_test(test_infinite_logits_give_chances_0_and_1_and_nan_gives_nan),
    cmocka_unit_test(test_mirrored_rows_of_any_length_are_exact),
    cmocka_unit_test(test_group_of_any_length_matches_reference),
};

int main(void) {
    if (!lh_level_is_supported(LH_LEVEL_NAME)) {
        print_message("outwards: skipped, this machine does not run %s\n", LH_LEVEL_NAME);
        return 0;
    }
    return cmocka_run_group_tests_name(REAL_BYTES == 8 ? "outwards " LH_LEVEL_NAME " float64"
                                                       : "outwards " LH_LEVEL_NAME " float32",
                                       TESTS, NULL, NULL);
}
