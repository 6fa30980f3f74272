/* kernels/ref/stick.c: published and independently computed values, and gradients against central differences. */
#include "lh_test.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/ref/ref.h"
#include "lh_differences.h"

enum { T = 6, H = 2, D = 4, C = H * D, SEEDS = 10 };

/* Query 3 and keys 0, 1, 2 with the logits 1, 0, -1. */
static void test_row_has_known_weights(void **state) {
    static const double logit[] = {1, 0, -1, 5}, expected[] = {0.2672, 0.3655, 0.2689, 0}, expected_rest = 0.0983;
    const lh_ref_stick shape = {.tokens = 4};
    double weight[4], remainder = lh_ref_stick_row(&shape, 3, logit, weight);
    lh_assert_close(weight, expected, 4, 0, 5e-5);
    lh_assert_close(&remainder, &expected_rest, 1, 0, 5e-5);
}

/* Without its own key the first query has no key, and the whole stick remains. */
static void test_row_of_the_first_query_leaves_the_whole_stick(void **state) {
    static const double logit[] = {0};
    lh_ref_stick shape = {.tokens = 1};
    double weight;
    assert_true(lh_ref_stick_row(&shape, 0, logit, &weight) == 1 && weight == 0);
    shape.own_key = 1;
    double remainder = lh_ref_stick_row(&shape, 0, logit, &weight);
    assert_true(fabs(remainder - 0.5) < EXACT && fabs(weight - 0.5) < EXACT);
}

/* If weights were computed as products of chances, these would round to 0 or 1. The reference sums logarithms. */
static void test_row_of_extreme_logits_keeps_small_weights(void **state) {
    static const double logit[] = {-700, 40, -40};
    const lh_ref_stick shape = {.tokens = 3, .own_key = 1};
    double weight[3], remainder = lh_ref_stick_row(&shape, 2, logit, weight);
    const double expected[] = {exp(-740), 1, exp(-40)}, expected_rest = exp(-40);
    lh_assert_close(weight + 1, expected + 1, 2, 1e-12, 0);
    assert_true(weight[0] > 0 && weight[0] < 1e-300);
    lh_assert_close(&remainder, &expected_rest, 1, 1e-12, 0);
}

/* Four tokens with one head of two channels. A program with numbers of 60 decimal digits computed the outputs by
 * running products, and the gradients by differences. */
typedef struct stored_case {
    int own_key, own_value;
    double out[8], dq[8], dk[8], dv[8];
} stored_case;

static const stored_case STORED[] = {
    {0,
     0,
     {0, 0, 0.759337082227, -1.518674164453, 0.505103888296, 0.758215419889, -0.474937709089, 0.528483382918},
     {0, 0, -0.646098590214, -0.323049295107, 0.063578765191, -0.082785880843, -0.602207330759, 0.408370138187},
     {-0.996450897829, -0.119013380605, 0.172816859001, -0.037237790637, -0.268089981322, -0.268089981322, 0, 0},
     {-0.607280512601, 1.578046484753, 0.532910325608, -0.234200848421, 1.00464232399, 0.669761549327, 0, 0}},
    {0,
     1,
     {1, -2, 0.879668541113, -1.27801124668, 0.452313575712, 0.797808154327, -0.412013438916, 0.53634891669},
     {0, 0, -0.839928167278, -0.419964083639, 0.06595783504, -0.050653039399, -0.730007272092, 0.373043096295},
     {-1.350423296527, -0.195791668245, 0.111826097268, -0.041499157084, -0.316515777064, -0.316515777064, 0, 0},
     {0.392719487399, 2.078046484753, 0.292247407835, 0.247124987125, 1.017839902136, 0.643366393035, 0.04719320263,
      0.031462135087}},
    {1,
     0,
     {0.5, -1, 0.649567176031, -0.452592043089, 0.388249873941, 0.757577586978, 1.182680405437, 0.341965920913},
     {0, 0, -0.829764018449, 0.956538964057, 0.020952039243, -0.057513226033, -0.064606824367, 0.537655096317},
     {-0.579226221151, -0.049052600387, 1.462413071998, 0.125815940062, -0.074399657925, -0.1262241858, 0.537060766108,
      0.537060766108},
     {0.121608982282, 1.126818910441, -0.116393158159, 0.507419151543, 0.351181150572, 0.182361764336, 1.00464232399,
      0.669761549327}},
    {1,
     1,
     {1, -2, 0.718965799394, -0.313794796364, 0.339558122255, 0.794096400742, 1.203460418929, 0.3445634226},
     {0, 0, -0.910394832926, 0.82275467563, 0.026487794777, -0.029545826884, -0.110809293929, 0.513994703917},
     {-0.773424298937, -0.071319791296, 1.339641573706, 0.133260185994, -0.091644740099, -0.13887485245, 0.521068706349,
      0.521068706349},
     {0.621608982282, 1.376818910441, -0.255190404885, 0.785013644994, 0.363354088494, 0.158015888493, 1.020227334109,
      0.680151556073}},
};

/* Each deliberate mistake of the reference must change the outputs. */
static void test_attend_matches_stored_values(void **state) {
    static const double q[] = {0.5, -1, 1.5, 0.25, -0.75, 2, 1, 1}, k[] = {1, 0.5, -0.5, 1.25, 2, -1, 0.25, 0.75},
                        v[] = {1, -2, 0.5, 1, -1, 0.75, 2, 0.25}, dout[] = {1, 0.5, -1, 2, 0.25, -0.5, 1.5, 1};
    double out[8], dq[8], dk[8], dv[8], logits[16], weights[16];
    for (size_t i = 0; i < sizeof STORED / sizeof *STORED; i++) {
        const stored_case *c = &STORED[i];
        lh_ref_stick shape = {
            .tokens = 4, .heads = 1, .head_width = 2, .own_key = c->own_key, .own_value = c->own_value};
        lh_ref_stick_attend(&shape, q, k, v, logits, weights, out);
        lh_ref_stick_attend_grad(&shape, q, k, v, dout, dq, dk, dv);
        lh_assert_close(out, c->out, 8, 0, 1e-9);
        lh_assert_close(dq, c->dq, 8, 0, 1e-9);
        lh_assert_close(dk, c->dk, 8, 0, 1e-9);
        lh_assert_close(dv, c->dv, 8, 0, 1e-9);
        for (int mistake = 1; mistake < LH_REF_STICK_MISTAKES; mistake++) {
            double mistaken[8], difference = 0;
            shape.mistake = (lh_ref_stick_mistake)mistake;
            lh_ref_stick_attend(&shape, q, k, v, logits, weights, mistaken);
            for (int e = 0; e < 8; e++) difference = fmax(difference, fabs(mistaken[e] - c->out[e]));
            assert_true(difference > 1e-2);
        }
    }
}

typedef struct attention_case {
    lh_ref_stick shape;
    double q[T * C], k[T * C], v[T * C], dout[T * C], out[T * C], logits[H * T * T], weights[H * T * T];
} attention_case;

static double compute_objective(void *context) {
    attention_case *c = context;
    lh_ref_stick_attend(&c->shape, c->q, c->k, c->v, c->logits, c->weights, c->out);
    return lh_test_compute_weighted_sum(T * C, c->dout, c->out);
}

static void check_gradients(lh_ref_stick shape, uint64_t seed) {
    attention_case c = {.shape = shape};
    double dq[T * C], dk[T * C], dv[T * C], *filled[] = {c.q, c.k, c.v, c.dout};
    for (int i = 0; i < 4; i++) lh_test_fill_values(4 * seed + (uint64_t)i, T * C, filled[i]);
    lh_ref_stick_attend_grad(&c.shape, c.q, c.k, c.v, c.dout, dq, dk, dv);
    lh_test_check_gradient(compute_objective, &c, T * C, c.q, dq);
    lh_test_check_gradient(compute_objective, &c, T * C, c.k, dk);
    lh_test_check_gradient(compute_objective, &c, T * C, c.v, dv);
}

static void test_attend_grad_matches_differences(void **state) {
    static const lh_ref_rope rope = {.base = 10000};
    static const int32_t positions[T] = {0, 1, 2, 3, 4, 5};
    double cosine[T * D / 2], sine[T * D / 2];
    lh_ref_rotation(T, D, &rope, positions, cosine, sine);
    for (int seed = 0; seed < SEEDS; seed++) {
        lh_ref_stick shape = {.tokens = T, .heads = H, .head_width = D, .own_key = seed & 1, .own_value = seed / 2 & 1};
        check_gradients(shape, (uint64_t)seed);
        shape.cosine = cosine;
        shape.sine = sine;
        check_gradients(shape, (uint64_t)seed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row_has_known_weights),
        cmocka_unit_test(test_row_of_the_first_query_leaves_the_whole_stick),
        cmocka_unit_test(test_row_of_extreme_logits_keeps_small_weights),
        cmocka_unit_test(test_attend_matches_stored_values),
        cmocka_unit_test(test_attend_grad_matches_differences),
    };
    return cmocka_run_group_tests_name("stick-breaking reference", tests, NULL, NULL);
}
