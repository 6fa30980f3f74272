/* kernels/ref, attention and its positions: known values, and gradients against central differences. */
#include "lh_test.h"

#include <math.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "lh_differences.h"
#include "reference/vectors.h"

/* ---- positions ---- */

static void test_sinusoid_of_width_64_has_published_values(void **state) {
    static const int index[] = {0, 1, 31, 32, 33, 63};
    static const double row_of_1[] = {0.841471, 0.681561, 0.000133, 0.540302, 0.731761, 1.000000};
    static const double row_of_2047[] = {-0.968319, 0.933968, 0.269594, 0.249715, -0.357356, 0.962974};
    double row[64];
    lh_ref_sinusoid(64, 1, row);
    for (int i = 0; i < 6; i++) lh_assert_close(&row[index[i]], &row_of_1[i], 1, 0, SIX_DIGITS);
    lh_ref_sinusoid(64, 2047, row);
    for (int i = 0; i < 6; i++) lh_assert_close(&row[index[i]], &row_of_2047[i], 1, 0, SIX_DIGITS);
}

static const lh_ref_rope ROPE = {.base = 10000};
static const lh_ref_rope YARN = {.base = 10000,
                                 .scaling = LH_REF_YARN,
                                 .factor = 4,
                                 .original_length = 32,
                                 .beta_slow = 1,
                                 .beta_fast = 32,
                                 .attention_factor = 1.138629};

static void test_rotated_head_of_8_has_published_values(void **state) {
    static const double expected[] = {-1.272233, -1.838865, 1.683929, 4.707907, 4.817777, 6.147278, 6.975969, 8.020964};
    const int32_t position = 3;
    double x[] = {1, 2, 3, 4, 5, 6, 7, 8}, cosine[4], sine[4];
    lh_ref_rotation(1, 8, &ROPE, &position, cosine, sine);
    lh_ref_rotate(1, 1, 0, 8, cosine, sine, x);
    lh_assert_close(x, expected, 8, 0, SIX_DIGITS);
}

static void test_unrotate_after_rotate_gives_input_back(void **state) {
    const int32_t positions[] = {0, 5, 63};
    double x[3 * 2 * 6], original[36], cosine[9], sine[9];
    lh_test_fill_values(1, 36, x);
    memcpy(original, x, sizeof x);
    lh_ref_rotation(3, 6, &ROPE, positions, cosine, sine);
    lh_ref_rotate(3, 2, 0, 6, cosine, sine, x);
    lh_assert_close(x, original, 12, 0, 0); /* position 0 has no rotation */
    assert_true(fabs(x[12] - original[12]) > 1e-3);
    lh_ref_unrotate(3, 2, 0, 6, cosine, sine, x);
    lh_assert_close(x, original, 36, EXACT, EXACT);
}

static void test_scaling_linear_divides_speeds_by_factor(void **state) {
    const lh_ref_rope linear = {.base = 10000, .scaling = LH_REF_LINEAR, .factor = 4};
    const double expected[] = {0.25, 0.025, 0.0025, 0.00025};
    for (int m = 0; m < 4; m++) assert_true(fabs(lh_ref_rotation_speed(&linear, 8, m) / expected[m] - 1) < EXACT);
}

/* The first pair keeps its speed, the last is four times slower, and the speeds between them form a geometric
 * sequence. */
static void test_scaling_ntk_slows_the_last_pair_by_factor(void **state) {
    const lh_ref_rope ntk = {.base = 10000, .scaling = LH_REF_NTK, .factor = 4};
    const double expected[] = {1, 0.1 * pow(4, -1.0 / 3), 0.01 * pow(4, -2.0 / 3), 0.001 / 4};
    for (int m = 0; m < 4; m++) assert_true(fabs(lh_ref_rotation_speed(&ntk, 8, m) / expected[m] - 1) < EXACT);
}

/* Within 2 pi n positions, a pair of speed theta makes n theta rotations. For n = 1000, the four pairs make 1000, 100,
 * 10 and 1 rotations. The third pair's speed is interpolated at the fraction (10 - 1) / (32 - 1) between the bounds 1
 * and 32. */
static void test_scaling_yarn_slows_only_slow_pairs(void **state) {
    lh_ref_rope yarn = YARN;
    yarn.original_length = 2000 * acos(-1.0);
    const double expected[] = {1, 0.1, 0.01 * (22.0 / 31 / 4 + 9.0 / 31), 0.001 / 4};
    for (int m = 0; m < 4; m++) assert_true(fabs(lh_ref_rotation_speed(&yarn, 8, m) / expected[m] - 1) < 1e-12);
}

static void test_scaling_by_one_changes_nothing(void **state) {
    for (int scaling = LH_REF_LINEAR; scaling <= LH_REF_YARN; scaling++) {
        lh_ref_rope rope = YARN;
        rope.scaling = (lh_ref_scaling)scaling;
        rope.factor = 1;
        for (int m = 0; m < 4; m++)
            assert_true(fabs(lh_ref_rotation_speed(&rope, 8, m) / lh_ref_rotation_speed(&ROPE, 8, m) - 1) < EXACT);
    }
}

/* YaRN divides logits by a temperature t: queries and keys are each multiplied by attention_factor = sqrt(1 / t). */
static void test_yarn_rotation_grows_by_attention_factor(void **state) {
    const int32_t position = 77;
    double cosine[4], sine[4];
    lh_ref_rotation(1, 8, &YARN, &position, cosine, sine);
    for (int m = 0; m < 4; m++) assert_true(fabs(hypot(cosine[m], sine[m]) / YARN.attention_factor - 1) < 1e-12);
}

/* ---- attention ---- */

enum { T = 5, H = 3, D = 4, QKV = T * H * D };

typedef struct attention_case {
    lh_ref_attention shape;
    double cosine[T * D / 2], sine[T * D / 2];
    double q[QKV], k[QKV], v[QKV], weights[H * T * T], out[QKV], dout[QKV];
    double relative[T * QKV], content_bias[H * D], position_bias[H * D], score[H * T * T];
} attention_case;

static double attention_objective(void *context) {
    attention_case *c = context;
    lh_ref_attend(&c->shape, c->q, c->k, c->v, c->weights, c->out);
    return lh_test_compute_weighted_sum(QKV, c->dout, c->out);
}

static attention_case new_attention_case(void) {
    attention_case c = {.shape = {.tokens = T, .heads = H, .head_width = D}};
    lh_test_fill_values(1, QKV, c.q);
    lh_test_fill_values(2, QKV, c.k);
    lh_test_fill_values(3, QKV, c.v);
    lh_test_fill_values(4, QKV, c.dout);
    return c;
}

static void check_attention_gradients(attention_case *c) {
    double dq[QKV], dk[QKV], dv[QKV], drelative[T * QKV] = {0}, dcontent[H * D] = {0}, dposition[H * D] = {0},
                                                    dscore[H * T * T] = {0};
    lh_ref_pair_grad grad = {c->shape.relative ? drelative : NULL, dcontent, dposition, dscore};
    attention_objective(c);
    lh_ref_attend_grad(&c->shape, c->q, c->k, c->v, c->weights, c->dout, dq, dk, dv, &grad);
    lh_test_check_gradient(attention_objective, c, QKV, c->q, dq);
    lh_test_check_gradient(attention_objective, c, QKV, c->k, dk);
    lh_test_check_gradient(attention_objective, c, QKV, c->v, dv);
    if (c->shape.relative) lh_test_check_gradient(attention_objective, c, T * QKV, c->relative, drelative);
    if (c->shape.content_bias) lh_test_check_gradient(attention_objective, c, H * D, c->content_bias, dcontent);
    if (c->shape.position_bias) lh_test_check_gradient(attention_objective, c, H * D, c->position_bias, dposition);
    if (c->shape.score) lh_test_check_gradient(attention_objective, c, H * T * T, c->score, dscore);
}

static void test_attention_to_one_token_gives_its_value(void **state) {
    attention_case c = new_attention_case();
    c.shape.tokens = 1;
    lh_ref_attend(&c.shape, c.q, c.k, c.v, c.weights, c.out);
    lh_assert_close(c.out, c.v, H * D, 0, 0);
}

static void test_large_scores_pick_one_key(void **state) {
    attention_case c = new_attention_case();
    memset(c.q, 0, sizeof c.q);
    memset(c.k, 0, sizeof c.k);
    for (int i = 0; i < T; i++) c.q[i * H * D] = 1e3; /* head 0, feature 0 */
    c.k[2 * H * D] = 4e3;                             /* a score of 2e6 for key 2, for which exp would overflow */
    lh_ref_attend(&c.shape, c.q, c.k, c.v, c.weights, c.out);
    lh_assert_close(c.out, c.v + 2 * H * D, D, 0, 0);
    for (int d = 0; d < D; d++) { /* head 1: all scores equal */
        double mean = 0;
        for (int j = 0; j < T; j++) mean += c.v[j * H * D + D + d] / T;
        lh_assert_close(&c.out[D + d], &mean, 1, EXACT, EXACT);
    }
}

static void test_score_is_divided_by_root_of_head_width(void **state) {
    attention_case c = new_attention_case();
    c.shape.tokens = 2;
    memset(c.q, 0, sizeof c.q);
    memset(c.k, 0, sizeof c.k);
    c.q[0] = 1;
    c.k[0] = 2; /* scores of query 0, head 0: 2 / sqrt(4) = 1 and 0 */
    lh_ref_attend(&c.shape, c.q, c.k, c.v, c.weights, c.out);
    double expected = exp(1) / (exp(1) + 1);
    lh_assert_close(c.weights, &expected, 1, EXACT, EXACT);
}

static void test_attention_grad_matches_differences(void **state) {
    attention_case c = new_attention_case();
    check_attention_gradients(&c);
}

static void test_rotated_attention_grad_matches_differences(void **state) {
    attention_case c = new_attention_case();
    const int32_t positions[T] = {0, 3, 4, 17, 60};
    lh_ref_rotation(T, D, &ROPE, positions, c.cosine, c.sine);
    c.shape.cosine = c.cosine;
    c.shape.sine = c.sine;
    check_attention_gradients(&c);
}

static void test_relative_attention_grad_matches_differences(void **state) {
    attention_case c = new_attention_case();
    lh_test_fill_values(5, T * QKV, c.relative);
    lh_test_fill_values(6, H * D, c.content_bias);
    lh_test_fill_values(7, H * D, c.position_bias);
    lh_test_fill_values(8, H * T * T, c.score);
    c.shape.relative = c.relative;
    c.shape.score = c.score;
    check_attention_gradients(&c); /* Shaw's encoding has no biases */
    c.shape.content_bias = c.content_bias;
    c.shape.position_bias = c.position_bias;
    check_attention_gradients(&c);
}

/* Three tokens with one head of one channel. z: the logit of every token's gate; sign: 1, or -1 for negated gates.
 * expected_row: logits of the last query; expected: outputs. */
static void check_forgetting(int sign, const double *expected_row, const double *expected) {
    static const double q[] = {1, 0.5, 2}, k[] = {1, 2, 0.5}, v[] = {1, 2, 4}, z[] = {0, 1, -1};
    double score[9] = {0}, weights[9], logits[9], out[3];
    const lh_ref_attention shape = {
        .tokens = 3, .heads = 1, .head_width = 1, .score = score, .undivided = sign < 0, .logits = logits};
    for (int pair = 0; pair < 9; pair++) score[pair] = pair % 3 > pair / 3 ? -INFINITY : 0;
    lh_ref_forget(3, 1, sign, z, score);
    lh_ref_attend(&shape, q, k, v, weights, out);
    lh_assert_close(logits + 6, expected_row, 3, 0, 5e-5);
    lh_assert_close(out, expected, 3, 0, 5e-5);
}

/* Lin et al. 2025: the gate of the query counts, the gate of the key does not. */
static void test_forgetting_has_known_rows(void **state) {
    check_forgetting(1, (const double[]){0.3735, 2.6867, 1}, (const double[]){1, 1.6928, 2.2113});
}

/* Veisi et al. 2025: the same sums, of negated gates. */
static void test_forgetting_by_negated_gates_has_known_rows(void **state) {
    check_forgetting(-1, (const double[]){0.3735, 3.6867, 1}, (const double[]){1, 1.8598, 2.0904});
}

/* Golovneva et al. 2024: three tokens with one head of one channel, and a table of three rows. A count is the sum of
 * the gates from the key to the query, both included, but at most the index of the last row. */
static void test_cope_has_a_known_row(void **state) {
    static const double q[] = {1, 0.5, 2}, k[] = {1, 2, 0.5}, v[] = {1, 2, 4}, table[] = {0.1, 0.5, -0.2};
    static const double terms[] = {-0.4, 0.0017, 0.7848}, row[] = {0.0755, 0.8337, 0.0908};
    double score[9] = {0}, weights[9], out[3];
    lh_ref_cope shape = {.tokens = 3, .heads = 1, .head_width = 1, .rows = 3, .table = table};
    for (int pair = 0; pair < 9; pair++) score[pair] = pair % 3 > pair / 3 ? -INFINITY : 0;
    lh_ref_cope_terms(&shape, q, k, score);
    lh_assert_close(score + 6, terms, 3, 0, 5e-5);
    lh_ref_attention attention = {.tokens = 3, .heads = 1, .head_width = 1, .score = score};
    lh_ref_attend(&attention, q, k, v, weights, out);
    lh_assert_close(weights + 6, row, 3, 0, 5e-5);
}

typedef struct cope_case {
    lh_ref_cope shape;
    double q[QKV], k[QKV], table[4 * D], score[H * T * T], dscore[H * T * T];
} cope_case;

static double cope_objective(void *context) {
    cope_case *c = context;
    memset(c->score, 0, sizeof c->score);
    lh_ref_cope_terms(&c->shape, c->q, c->k, c->score);
    return lh_test_compute_weighted_sum(H * T * T, c->dscore, c->score);
}

static void test_cope_grad_matches_differences(void **state) {
    for (int divided = 0; divided < 2; divided++) {
        cope_case c = {.shape = {.tokens = T, .heads = H, .head_width = D, .rows = 4, .divided = divided}};
        double dq[QKV] = {0}, dk[QKV] = {0}, dtable[4 * D] = {0};
        c.shape.table = c.table;
        lh_test_fill_values(1, QKV, c.q);
        lh_test_fill_values(2, QKV, c.k);
        lh_test_fill_values(3, 4 * D, c.table);
        lh_test_fill_values(4, H * T * T, c.dscore);
        lh_ref_cope_grad(&c.shape, c.q, c.k, c.dscore, dq, dk, dtable);
        lh_test_check_gradient(cope_objective, &c, QKV, c.q, dq);
        lh_test_check_gradient(cope_objective, &c, QKV, c.k, dk);
        lh_test_check_gradient(cope_objective, &c, 4 * D, c.table, dtable);
    }
}

/* Zhang et al. 2025: the terms of a key at distance 3 in two heads. The softplus of the strength is 1. */
static void test_grape_has_known_terms(void **state) {
    static const double vector[] = {3, 4, 3, 4}, strength[] = {0.5413248546129181, 0.5413248546129181};
    const lh_ref_grape shape = {.tokens = 4, .heads = 2, .head_width = 2, .key_vector = vector, .strength = strength};
    double q[16] = {0}, k[16] = {1, 1, 1, 1}, score[32] = {0};
    lh_ref_grape_terms(&shape, q, k, score);
    lh_assert_close(score + 3 * 4, &(double){-0.2449}, 1, 0, 5e-5);
    lh_assert_close(score + 16 + 3 * 4, &(double){-0.2449 / 16}, 1, 0, 5e-6);
}

typedef struct grape_case {
    lh_ref_grape shape;
    double q[QKV], k[QKV], key_vector[H * D], query_vector[H * D], strength[H], score[H * T * T], dscore[H * T * T];
} grape_case;

static double grape_objective(void *context) {
    grape_case *c = context;
    memset(c->score, 0, sizeof c->score);
    lh_ref_grape_terms(&c->shape, c->q, c->k, c->score);
    return lh_test_compute_weighted_sum(H * T * T, c->dscore, c->score);
}

/* Gates of keys (1), of queries (2) and of both (3). */
static void test_grape_grad_matches_differences(void **state) {
    for (int gates = 1; gates < 4; gates++) {
        grape_case c = {.shape = {.tokens = T, .heads = H, .head_width = D}};
        double dq[QKV] = {0}, dk[QKV] = {0}, dkey[H * D] = {0}, dquery[H * D] = {0}, dstrength[H] = {0};
        c.shape.key_vector = gates & 1 ? c.key_vector : NULL;
        c.shape.query_vector = gates & 2 ? c.query_vector : NULL;
        c.shape.strength = c.strength;
        lh_test_fill_values(1, QKV, c.q);
        lh_test_fill_values(2, QKV, c.k);
        lh_test_fill_values(3, H * D, c.key_vector);
        lh_test_fill_values(4, H * D, c.query_vector);
        lh_test_fill_values(5, H, c.strength);
        lh_test_fill_values(6, H * T * T, c.dscore);
        lh_ref_grape_terms_grad(&c.shape, c.q, c.k, c.dscore, &(lh_ref_grape_grad){dq, dk, dkey, dquery, dstrength});
        lh_test_check_gradient(grape_objective, &c, QKV, c.q, dq);
        lh_test_check_gradient(grape_objective, &c, QKV, c.k, dk);
        lh_test_check_gradient(grape_objective, &c, H * D, c.key_vector, dkey);
        lh_test_check_gradient(grape_objective, &c, H * D, c.query_vector, dquery);
        lh_test_check_gradient(grape_objective, &c, H, c.strength, dstrength);
    }
}

/* Two tokens, with only one channel that is not 0: the logit is ((q + u) k + (q + v) r) / sqrt(4), plus the score. */
static void test_relative_attention_has_known_logits(void **state) {
    attention_case c = new_attention_case();
    c.shape = (lh_ref_attention){.tokens = 2,
                                 .heads = 1,
                                 .head_width = D,
                                 .relative = c.relative,
                                 .content_bias = c.content_bias,
                                 .position_bias = c.position_bias,
                                 .score = c.score};
    memset(c.q, 0, sizeof c.q);
    memset(c.k, 0, sizeof c.k);
    memset(c.score, 0, sizeof c.score);
    c.q[0] = 3, c.k[0] = 1, c.k[D] = 2;
    c.content_bias[0] = 1, c.position_bias[0] = -1;
    c.relative[0] = 5, c.relative[D] = 7;
    c.score[1] = 0.5;
    lh_ref_attend(&c.shape, c.q, c.k, c.v, c.weights, c.out);
    double first = (4 * 1 + 2 * 5) / 2.0, second = (4 * 2 + 2 * 7) / 2.0 + 0.5;
    double expected = 1 / (1 + exp(second - first));
    lh_assert_close(c.weights, &expected, 1, EXACT, EXACT);
}

/* Four tokens, with indices and with the random distances 3, 10, 63. The score is minus the slope, 1/16 or 1/256, times
 * the distance. To the left, the distance is reduced by a half. */
static void test_alibi_has_known_values(void **state) {
    const int32_t index[] = {0, 1, 2, 3}, sampled[] = {0, 3, 10, 63};
    const double half_steps[] = {0, -1, -2, -3, -0.5, 0, -1, -2, -1.5, -0.5, 0, -1, -2.5, -1.5, -0.5, 0};
    const double random[] = {0, -3, -10, -63, -62.5, -9.5, -2.5, 0}; /* rows 0 and 3 */
    lh_vectors_facts facts = {.positions = 64};
    int32_t distances[16];
    double score[32];
    lh_vectors_compute_distances(&facts, 4, index, NULL, distances);
    lh_vectors_compute_alibi(2, 16, distances, score);
    for (int i = 0; i < 16; i++) assert_true(score[i] == half_steps[i] / 16 && score[16 + i] == half_steps[i] / 256);
    facts.samples_distances = true;
    lh_vectors_compute_distances(&facts, 4, index, sampled, distances);
    lh_vectors_compute_alibi(2, 16, distances, score);
    for (int j = 0; j < 4; j++) assert_true(score[j] == random[j] / 16 && score[12 + j] == random[4 + j] / 16);
}

static void test_rotated_attention_depends_on_differences_of_positions(void **state) {
    attention_case c = new_attention_case();
    const int32_t positions[T] = {0, 3, 4, 17, 60}, shifted[T] = {1000, 1003, 1004, 1017, 1060};
    double original[QKV];
    c.shape.cosine = c.cosine;
    c.shape.sine = c.sine;
    lh_ref_rotation(T, D, &ROPE, positions, c.cosine, c.sine);
    attention_objective(&c);
    memcpy(original, c.out, sizeof original);
    lh_ref_rotation(T, D, &ROPE, shifted, c.cosine, c.sine);
    attention_objective(&c);
    lh_assert_close(c.out, original, QKV, 1e-12, 1e-12); /* angles of 1000 radians have an error of 1e-13 */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sinusoid_of_width_64_has_published_values),
        cmocka_unit_test(test_rotated_head_of_8_has_published_values),
        cmocka_unit_test(test_unrotate_after_rotate_gives_input_back),
        cmocka_unit_test(test_scaling_linear_divides_speeds_by_factor),
        cmocka_unit_test(test_scaling_ntk_slows_the_last_pair_by_factor),
        cmocka_unit_test(test_scaling_yarn_slows_only_slow_pairs),
        cmocka_unit_test(test_scaling_by_one_changes_nothing),
        cmocka_unit_test(test_yarn_rotation_grows_by_attention_factor),
        cmocka_unit_test(test_attention_to_one_token_gives_its_value),
        cmocka_unit_test(test_large_scores_pick_one_key),
        cmocka_unit_test(test_score_is_divided_by_root_of_head_width),
        cmocka_unit_test(test_attention_grad_matches_differences),
        cmocka_unit_test(test_rotated_attention_grad_matches_differences),
        cmocka_unit_test(test_relative_attention_grad_matches_differences),
        cmocka_unit_test(test_forgetting_has_known_rows),
        cmocka_unit_test(test_forgetting_by_negated_gates_has_known_rows),
        cmocka_unit_test(test_cope_has_a_known_row),
        cmocka_unit_test(test_cope_grad_matches_differences),
        cmocka_unit_test(test_grape_has_known_terms),
        cmocka_unit_test(test_grape_grad_matches_differences),
        cmocka_unit_test(test_relative_attention_has_known_logits),
        cmocka_unit_test(test_alibi_has_known_values),
        cmocka_unit_test(test_rotated_attention_depends_on_differences_of_positions),
    };
    return cmocka_run_group_tests_name("ref_attention", tests, NULL, NULL);
}
