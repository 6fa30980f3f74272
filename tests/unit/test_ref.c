/* kernels/ref, operations: known values, and gradients against central differences. All other parity tests trust the
 * operations that this file and test_ref_*.c check. */
#include "lh_test.h"

#include <math.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "lh_differences.h"

/* ---- products and ReLU ---- */

typedef struct linear_case {
    double x[3 * 4], w[4 * 5], b[5], y[3 * 5], dy[3 * 5];
} linear_case;

static double linear_objective(void *context) {
    linear_case *c = context;
    lh_ref_matmul(3, 4, 5, c->x, c->w, c->b, c->y);
    return lh_test_compute_weighted_sum(15, c->dy, c->y);
}

static void test_matmul_of_two_by_two_has_known_values(void **state) {
    const double x[] = {1, 2, 3, 4}, w[] = {5, 6, 7, 8}, b[] = {100, 200};
    const double product[] = {19, 22, 43, 50}, with_bias[] = {119, 222, 143, 250};
    double y[4];
    lh_ref_matmul(2, 2, 2, x, w, NULL, y);
    lh_assert_close(y, product, 4, 0, 0);
    lh_ref_matmul(2, 2, 2, x, w, b, y);
    lh_assert_close(y, with_bias, 4, 0, 0);
}

static void test_matmul_grad_of_odd_sizes_matches_differences(void **state) {
    linear_case c;
    double dx[12], dw[20] = {0}, db[5] = {0};
    lh_test_fill_values(1, 12, c.x);
    lh_test_fill_values(2, 20, c.w);
    lh_test_fill_values(3, 5, c.b);
    lh_test_fill_values(4, 15, c.dy);
    lh_ref_matmul_input_grad(3, 4, 5, c.dy, c.w, dx);
    lh_ref_matmul_weight_grad(3, 4, 5, c.x, c.dy, dw, db);
    lh_test_check_gradient(linear_objective, &c, 12, c.x, dx);
    lh_test_check_gradient(linear_objective, &c, 20, c.w, dw);
    lh_test_check_gradient(linear_objective, &c, 5, c.b, db);
}

static void test_matmul_weight_grad_is_added_to_existing_values(void **state) {
    linear_case c;
    double single[20] = {0}, doubled[20] = {0};
    lh_test_fill_values(1, 12, c.x);
    lh_test_fill_values(4, 15, c.dy);
    lh_ref_matmul_weight_grad(3, 4, 5, c.x, c.dy, single, NULL);
    for (int i = 0; i < 2; i++) lh_ref_matmul_weight_grad(3, 4, 5, c.x, c.dy, doubled, NULL);
    for (int i = 0; i < 20; i++) single[i] *= 2;
    lh_assert_close(doubled, single, 20, EXACT, EXACT);
}

static void test_relu_of_negative_numbers_and_zero_is_zero(void **state) {
    const double x[] = {-2, 0, 3}, dy[] = {5, 6, 7}, expected_y[] = {0, 0, 3}, expected_dx[] = {0, 0, 7};
    double y[3], dx[3];
    lh_ref_activation(LH_REF_RELU, 3, x, y);
    lh_ref_activation_grad(LH_REF_RELU, 3, x, dy, dx);
    lh_assert_close(y, expected_y, 3, 0, 0);
    lh_assert_close(dx, expected_dx, 3, 0, 0);
}

/* ---- norms ---- */

typedef struct norm_case {
    double x[3 * 7], scale[7], offset[7], y[3 * 7], dy[3 * 7];
} norm_case;

static double norm_objective(void *context) {
    norm_case *c = context;
    lh_ref_layer_norm(3, 7, c->x, c->scale, c->offset, c->y);
    return lh_test_compute_weighted_sum(21, c->dy, c->y);
}

static void test_layer_norm_divides_by_the_biased_deviation(void **state) {
    const double x[] = {1, 3}, scale[] = {2, 5}, offset[] = {10, 20}; /* mean 2, biased variance 1 */
    double y[2], inverse = 1 / sqrt(1 + 1e-5), expected[] = {10 - 2 * inverse, 20 + 5 * inverse};
    lh_ref_layer_norm(1, 2, x, scale, offset, y);
    lh_assert_close(y, expected, 2, EXACT, EXACT);
}

static void test_layer_norm_grad_of_odd_sizes_matches_differences(void **state) {
    norm_case c;
    double dx[21], dscale[7] = {0}, doffset[7] = {0};
    lh_test_fill_values(1, 21, c.x);
    lh_test_fill_values(2, 7, c.scale);
    lh_test_fill_values(3, 7, c.offset);
    lh_test_fill_values(4, 21, c.dy);
    lh_ref_layer_norm_grad(3, 7, c.x, c.scale, c.dy, dx, dscale, doffset);
    lh_test_check_gradient(norm_objective, &c, 21, c.x, dx);
    lh_test_check_gradient(norm_objective, &c, 7, c.scale, dscale);
    lh_test_check_gradient(norm_objective, &c, 7, c.offset, doffset);
}

static double rms_objective(void *context) {
    norm_case *c = context;
    lh_ref_rms_norm(3, 7, c->x, c->scale, c->y);
    return lh_test_compute_weighted_sum(21, c->dy, c->y);
}

static void test_rms_norm_keeps_the_mean(void **state) {
    const double x[] = {1, 7}, scale[] = {2, 5}; /* mean square 25 */
    double y[2], inverse = 1 / sqrt(25 + 1e-5), expected[] = {2 * inverse, 35 * inverse};
    lh_ref_rms_norm(1, 2, x, scale, y);
    lh_assert_close(y, expected, 2, EXACT, EXACT);
}

static void test_rms_norm_grad_of_odd_sizes_matches_differences(void **state) {
    norm_case c;
    double dx[21], dscale[7] = {0};
    lh_test_fill_values(1, 21, c.x);
    lh_test_fill_values(2, 7, c.scale);
    lh_test_fill_values(4, 21, c.dy);
    lh_ref_rms_norm_grad(3, 7, c.x, c.scale, c.dy, dx, dscale);
    lh_test_check_gradient(rms_objective, &c, 21, c.x, dx);
    lh_test_check_gradient(rms_objective, &c, 7, c.scale, dscale);
}

/* ---- activations and gates ---- */

/* Values computed by the formulas in Python, with its erf, tanh and exp. */
static void test_activations_have_known_values(void **state) {
    static const double x[] = {-3, -1, -0.5, 0, 0.5, 1, 3};
    static const double expected[][7] = {
        [LH_REF_RELU] = {0, 0, 0, 0, 0.5, 1, 3},
        [LH_REF_GELU] = {-0.004050, -0.158655, -0.154269, 0, 0.345731, 0.841345, 2.995950},
        [LH_REF_GELU_TANH] = {-0.003637, -0.158808, -0.154286, 0, 0.345714, 0.841192, 2.996363},
        [LH_REF_SILU] = {-0.142278, -0.268941, -0.188770, 0, 0.311230, 0.731059, 2.857722}};
    for (int f = LH_REF_RELU; f <= LH_REF_SILU; f++) {
        double y[7];
        lh_ref_activation((lh_ref_nonlinearity)f, 7, x, y);
        lh_assert_close(y, expected[f], 7, 0, SIX_DIGITS);
    }
}

typedef struct activation_case {
    lh_ref_nonlinearity f;
    double x[3 * 10], y[3 * 10], dy[3 * 10];
} activation_case;

static double activation_objective(void *context) {
    activation_case *c = context;
    lh_ref_activation(c->f, 30, c->x, c->y);
    return lh_test_compute_weighted_sum(30, c->dy, c->y);
}

static double gate_objective(void *context) {
    activation_case *c = context;
    lh_ref_gate(c->f, 3, 5, c->x, c->y);
    return lh_test_compute_weighted_sum(15, c->dy, c->y);
}

static void test_gradients_of_activations_and_gates_match_differences(void **state) {
    for (int f = LH_REF_RELU; f <= LH_REF_SILU; f++) {
        activation_case c = {.f = (lh_ref_nonlinearity)f};
        double dx[30];
        lh_test_fill_values(1, 30, c.x);
        lh_test_fill_values(2, 30, c.dy);
        for (int i = 0; i < 30; i++) c.x[i] *= 4;
        lh_ref_activation_grad(c.f, 30, c.x, c.dy, dx);
        lh_test_check_gradient(activation_objective, &c, 30, c.x, dx);
        lh_ref_gate_grad(c.f, 3, 5, c.x, c.dy, dx);
        lh_test_check_gradient(gate_objective, &c, 30, c.x, dx);
    }
}

static void test_gate_takes_the_first_half_of_a_row(void **state) {
    const double x[] = {1, -1, 10, 20, 2, 3, 30, 40}, expected[] = {10, 0, 60, 120};
    double y[4];
    lh_ref_gate(LH_REF_RELU, 2, 2, x, y);
    lh_assert_close(y, expected, 4, 0, 0);
}

/* ---- loss ---- */

typedef struct loss_case {
    double logits[4 * 3];
    uint16_t labels[4];
} loss_case;

static double loss_objective(void *context) {
    loss_case *c = context;
    return 0.25 * lh_ref_cross_entropy(4, 3, c->logits, c->labels, 0.25, NULL);
}

static void test_cross_entropy_of_equal_logits_is_log_of_classes(void **state) {
    const double logits[6] = {7, 7, 7, -900, -900, -900};
    const uint16_t labels[] = {0, 2};
    double loss = lh_ref_cross_entropy(2, 3, logits, labels, 1, NULL), expected = 2 * log(3);
    lh_assert_close(&loss, &expected, 1, 1e-12, 0); /* 900 + log 3 - 900 */
}

static void test_cross_entropy_grad_matches_differences(void **state) {
    loss_case c = {.labels = {0, 2, 1, 1}};
    double dlogits[12];
    lh_test_fill_values(1, 12, c.logits);
    lh_ref_cross_entropy(4, 3, c.logits, c.labels, 0.25, dlogits);
    lh_test_check_gradient(loss_objective, &c, 12, c.logits, dlogits);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul_of_two_by_two_has_known_values),
        cmocka_unit_test(test_matmul_grad_of_odd_sizes_matches_differences),
        cmocka_unit_test(test_matmul_weight_grad_is_added_to_existing_values),
        cmocka_unit_test(test_relu_of_negative_numbers_and_zero_is_zero),
        cmocka_unit_test(test_layer_norm_divides_by_the_biased_deviation),
        cmocka_unit_test(test_layer_norm_grad_of_odd_sizes_matches_differences),
        cmocka_unit_test(test_rms_norm_keeps_the_mean),
        cmocka_unit_test(test_rms_norm_grad_of_odd_sizes_matches_differences),
        cmocka_unit_test(test_activations_have_known_values),
        cmocka_unit_test(test_gradients_of_activations_and_gates_match_differences),
        cmocka_unit_test(test_gate_takes_the_first_half_of_a_row),
        cmocka_unit_test(test_cross_entropy_of_equal_logits_is_log_of_classes),
        cmocka_unit_test(test_cross_entropy_grad_matches_differences),
    };
    return cmocka_run_group_tests_name("ref", tests, NULL, NULL);
}
