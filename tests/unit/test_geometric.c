/* kernels/ref/geometric.c: known weights, weights computed by logarithms, and gradients compared with central
 * differences. */
#include "lh_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "lh_differences.h"

enum { MAX_T = 9, H = 2, D = 3, C = H * D };

static const double LEAST_DIVISOR = 1e-12; /* of normalised weights */

/* Four keys and the query of token 1, which considers the keys in the order 2, 0, 3. */
static void test_row_of_four_keys_has_known_weights(void **state) {
    const double logit[] = {0, 5, 1, -1}, expected[] = {0.134471, 0, 0.731059, 0.036165};
    const double shares[] = {0.149131, 0, 0.810761, 0.040108};
    double weight[4], total = lh_ref_geometric_row(4, 1, logit, weight);
    lh_assert_close(weight, expected, 4, 0, SIX_DIGITS);
    for (int j = 0; j < 4; j++) weight[j] /= total;
    lh_assert_close(weight, shares, 4, 0, SIX_DIGITS);
}

/* Logits of 0 give P = 1/2 everywhere, so weights halve in the order of the keys: nearer before farther, and right
 * before left. After the last key of one side, only keys of the other side remain. */
static void test_weights_of_equal_logits_halve_outwards(void **state) {
    static const double expected[5][5] = {{0, 1. / 2, 1. / 4, 1. / 8, 1. / 16},
                                          {1. / 4, 0, 1. / 2, 1. / 8, 1. / 16},
                                          {1. / 16, 1. / 4, 0, 1. / 2, 1. / 8},
                                          {1. / 16, 1. / 8, 1. / 4, 0, 1. / 2},
                                          {1. / 16, 1. / 8, 1. / 4, 1. / 2, 0}};
    const double logit[5] = {0};
    for (int i = 0; i < 5; i++) {
        double weight[5], total = lh_ref_geometric_row(5, i, logit, weight);
        lh_assert_close(weight, expected[i], 5, EXACT, 0);
        assert_true(fabs(total - 15. / 16) < EXACT);
    }
}

static double log_sigmoid(double x) { return x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x)); }

/* log A_ij = log P_ij + c(min(i + d - [j > i], T - 1)) - c(i - d), where c is the running sum of log(1 - P)
 * without the term of i. */
static void test_row_matches_weights_by_logarithms(void **state) {
    for (int T = 1; T <= MAX_T; T++) {
        for (int i = 0; i < T; i++) {
            double logit[MAX_T], weight[MAX_T], expected[MAX_T], running[MAX_T], sum = 0;
            lh_test_fill_values((uint64_t)(T * MAX_T + i), T, logit);
            for (int k = 0; k < T; k++) running[k] = sum += k == i ? 0 : log_sigmoid(-3 * logit[k]);
            for (int j = 0; j < T; j++) {
                int d = abs(i - j), last = i + d - (j > i);
                expected[j] = j == i ? 0
                                     : exp(log_sigmoid(3 * logit[j]) + running[last < T ? last : T - 1] -
                                           (i >= d ? running[i - d] : 0));
            }
            for (int k = 0; k < T; k++) logit[k] *= 3;
            lh_ref_geometric_row(T, i, logit, weight);
            lh_assert_close(weight, expected, (size_t)T, 1e-13, 0);
        }
    }
}

static void test_row_of_very_low_logits_has_zero_weights(void **state) {
    const double logit[] = {-1e4, -1e4, -1e4}, zeros[3] = {0};
    double weight[3];
    assert_true(lh_ref_geometric_row(3, 1, logit, weight) == 0);
    lh_assert_close(weight, zeros, 3, 0, 0);
    assert_true(lh_ref_geometric_row(1, 0, logit, weight) == 0 && weight[0] == 0);
}

typedef struct attention_case {
    lh_ref_geometric shape;
    double q[MAX_T * C], k[MAX_T * C], v[MAX_T * C], dout[MAX_T * C], out[MAX_T * C], weights[H * MAX_T * MAX_T];
    double content_bias[C], direction[MAX_T * H * 2];
} attention_case;

static double compute_objective(void *context) {
    attention_case *c = context;
    lh_ref_geometric_attend(&c->shape, c->q, c->k, c->v, c->weights, c->out);
    return lh_test_compute_weighted_sum(c->shape.tokens * C, c->dout, c->out);
}

/* Checks the gradients of attention by central differences. offset: the number that is added to all logits. */
static void check_gradients(int T, bool is_normalised, bool is_directional, double offset) {
    attention_case *c = calloc(1, sizeof *c);
    assert_non_null(c);
    double dq[MAX_T * C], dk[MAX_T * C], dv[MAX_T * C], dcontent[C] = {0}, ddirection[MAX_T * H * 2] = {0};
    double *filled[] = {c->q, c->k, c->v, c->dout};
    for (int i = 0; i < 4; i++) lh_test_fill_values((uint64_t)i + 1, MAX_T * C, filled[i]);
    lh_test_fill_values(5, C, c->content_bias);
    lh_test_fill_values(6, MAX_T * H * 2, c->direction);
    c->shape = (lh_ref_geometric){.tokens = T,
                                  .heads = H,
                                  .head_width = D,
                                  .normalised = is_normalised,
                                  .content_bias = c->content_bias,
                                  .direction = is_directional ? c->direction : NULL,
                                  .scale = 1.3,
                                  .direction_scale = 0.7,
                                  .offset = offset};
    lh_ref_geometric_grad grad = {.content_bias = dcontent, .direction = ddirection};
    lh_ref_geometric_attend_grad(&c->shape, c->q, c->k, c->v, c->dout, dq, dk, dv, &grad);
    lh_test_check_gradient(compute_objective, c, T * C, c->q, dq);
    lh_test_check_gradient(compute_objective, c, T * C, c->k, dk);
    lh_test_check_gradient(compute_objective, c, T * C, c->v, dv);
    lh_test_check_gradient(compute_objective, c, C, c->content_bias, dcontent);
    lh_test_check_gradient(compute_objective, c, 1, &c->shape.scale, &grad.scale);
    lh_test_check_gradient(compute_objective, c, 1, &c->shape.offset, &grad.offset);
    lh_test_check_gradient(compute_objective, c, 1, &c->shape.direction_scale, &grad.direction_scale);
    if (is_directional) lh_test_check_gradient(compute_objective, c, T * H * 2, c->direction, ddirection);
    free(c);
}

static void test_attend_grad_matches_differences(void **state) {
    static const int tokens[] = {1, 2, 5, 6};
    for (int i = 0; i < 4; i++)
        for (int flags = 0; flags < 4; flags++) check_gradients(tokens[i], flags & 1, flags & 2, -0.4);
}

/* The sums of weights are near LEAST_DIVISOR. The divisor is the larger of sum and LEAST_DIVISOR. */
static void test_attend_divides_small_sums_by_the_least_divisor(void **state) {
    double q[MAX_T * C], k[MAX_T * C], v[MAX_T * C], out[MAX_T * C], weights[H * MAX_T * MAX_T], content_bias[C] = {0};
    double *filled[] = {q, k, v}, logits[H * MAX_T * MAX_T];
    int high_count = 0, low_count = 0;
    for (int i = 0; i < 3; i++) lh_test_fill_values((uint64_t)i + 1, MAX_T * C, filled[i]);
    const lh_ref_geometric shape = {.tokens = MAX_T,
                                    .heads = H,
                                    .head_width = D,
                                    .normalised = 1,
                                    .content_bias = content_bias,
                                    .scale = 1.3,
                                    .offset = -30,
                                    .logits = logits};
    lh_ref_geometric_attend(&shape, q, k, v, weights, out);
    for (int row = 0; row < H * MAX_T; row++) {
        double total = 0, undivided[MAX_T],
               sum = lh_ref_geometric_row(MAX_T, row % MAX_T, logits + row * MAX_T, undivided);
        double expected = sum < LEAST_DIVISOR ? sum / LEAST_DIVISOR : 1;
        for (int j = 0; j < MAX_T; j++) total += weights[row * MAX_T + j];
        assert_true(fabs(total - expected) < EXACT);
        high_count += sum > LEAST_DIVISOR;
        low_count += sum < LEAST_DIVISOR;
    }
    assert_true(high_count > 3 && low_count > 3);
}

static void test_attend_grad_at_the_least_divisor_matches_differences(void **state) {
    for (int T = 1; T <= MAX_T; T++) check_gradients(T, true, T % 2, -30); /* logits near -30: tiny sums */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row_of_four_keys_has_known_weights),
        cmocka_unit_test(test_weights_of_equal_logits_halve_outwards),
        cmocka_unit_test(test_row_matches_weights_by_logarithms),
        cmocka_unit_test(test_row_of_very_low_logits_has_zero_weights),
        cmocka_unit_test(test_attend_grad_matches_differences),
        cmocka_unit_test(test_attend_divides_small_sums_by_the_least_divisor),
        cmocka_unit_test(test_attend_grad_at_the_least_divisor_matches_differences),
    };
    return cmocka_run_group_tests_name("geometric", tests, NULL, NULL);
}
