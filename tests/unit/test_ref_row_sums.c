/* Sums over keys (kernels/ref/cope.c). The sums of gates must equal the counts of lh_ref_cope_terms, and gradients must
 * equal central differences. */
#include "lh_test.h"

#include <math.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "lh_differences.h"

enum { T = 6, H = 2, D = 4, QKV = T * H * D, PAIRS = H * T * T };

/* With the table 0, 1, 2, ... and the query 1, lh_ref_cope_terms gives the counts themselves. A score of
 * lh_ref_row_sum_terms is a linear sum minus log(1 + sum of gates). The test computes the linear sum; the sum of gates
 * follows from this sum and the score. */
static void test_sums_of_gates_are_counts(void **state) {
    static const double q[] = {1, 1, 1, 1}, k[] = {1, -2, 0.5, 3}, table[] = {0, 1, 2, 3, 4, 5}, factor = 1;
    double count[16] = {0}, score[16] = {0};
    lh_ref_cope_terms(&(lh_ref_cope){.tokens = 4, .heads = 1, .head_width = 1, .rows = 6, .table = table}, q, k, count);
    lh_ref_row_sum_terms(
        &(lh_ref_row_sums){.tokens = 4, .heads = 1, .head_width = 1, .sharpness = &factor, .slope = &factor}, q, k,
        score);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j <= i; j++) {
            double linear = 0;
            for (int s = j; s <= i; s++) linear += 0.25 * k[s] * exp(0.1 * (s - i));
            double sum = exp(linear - score[i * 4 + j]) - 1;
            lh_assert_close(&sum, count + i * 4 + j, 1, 1e-12, 0);
        }
}

typedef struct sums_case {
    lh_ref_row_sums shape;
    double q[QKV], k[QKV], sharpness[H], slope[H], score[PAIRS], dscore[PAIRS];
} sums_case;

static double compute_objective(void *context) {
    sums_case *c = context;
    memset(c->score, 0, sizeof c->score);
    lh_ref_row_sum_terms(&c->shape, c->q, c->k, c->score);
    return lh_test_compute_weighted_sum(PAIRS, c->dscore, c->score);
}

static void test_grad_matches_differences(void **state) {
    sums_case c = {.shape = {.tokens = T, .heads = H, .head_width = D}};
    double dq[QKV] = {0}, dk[QKV] = {0}, dsharpness[H] = {0}, dslope[H] = {0};
    c.shape.sharpness = c.sharpness;
    c.shape.slope = c.slope;
    lh_test_fill_values(1, QKV, c.q);
    lh_test_fill_values(2, QKV, c.k);
    lh_test_fill_values(3, H, c.sharpness);
    lh_test_fill_values(4, H, c.slope);
    lh_test_fill_values(5, PAIRS, c.dscore);
    lh_ref_row_sum_grad(&c.shape, c.q, c.k, c.dscore, dq, dk, dsharpness, dslope);
    lh_test_check_gradient(compute_objective, &c, QKV, c.q, dq);
    lh_test_check_gradient(compute_objective, &c, QKV, c.k, dk);
    lh_test_check_gradient(compute_objective, &c, H, c.sharpness, dsharpness);
    lh_test_check_gradient(compute_objective, &c, H, c.slope, dslope);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_of_gates_are_counts),
        cmocka_unit_test(test_grad_matches_differences),
    };
    return cmocka_run_group_tests_name("ref_row_sums", tests, NULL, NULL);
}
