/* kernels/ref: known values, gradients against central differences, and whole networks against the stored vectors
 * of an independent implementation (tests/reference). What is checked here is what every other parity test trusts. */
#include "support/lh_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/lh_network.h"
#include "kernels/ref/ref.h"
#include "longhand/cpu.h"
#include "reference/vectors.h"

/* Tolerances, relative + absolute. */
static const double EXACT = 1e-14;       /* a handful of operations in double */
static const double SIX_DIGITS = 6e-7;   /* values published with six decimals */
static const double DIFFERENCE = 2e-7;   /* central differences of step 1e-5: truncation 1e-10, rounding 1e-16 / 1e-5,
                                          * times the hundred or so terms of an objective */
static const double ALONG = 2e-7;        /* likewise along a direction of a whole network, of steps 1e-6 and 5e-7 */
static const double STORED_F64 = 1e-11;  /* the same sums in another order, through two layers */
static const double STORED_F32 = 1.2e-7; /* gradients are stored rounded to float32: 2^-24 relative */

/* ---- tools ---- */

/* Fixed values in (-1, 1); another seed, other values. */
static void fill(uint64_t seed, int count, double *x) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(seed), 0, 0, 0);
    for (int i = 0; i < count; i++) x[i] = lh_rng_word(&rng) / 2147483648.0 - 1;
}

static double weighted_sum(int count, const double *weight, const double *x) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += weight[i] * x[i];
    return sum;
}

/* Compares analytic d(objective)/dx with central differences of step 1e-5. */
static void check_gradient(double (*objective)(void *), void *context, int count, double *x, const double *analytic) {
    const double step = 1e-5;
    for (int i = 0; i < count; i++) {
        double kept = x[i];
        x[i] = kept + step;
        double above = objective(context);
        x[i] = kept - step;
        double numeric = (above - objective(context)) / (2 * step);
        x[i] = kept;
        lh_assert_close(&analytic[i], &numeric, 1, DIFFERENCE, DIFFERENCE);
    }
}

/* ---- products and ReLU ---- */

typedef struct linear_case {
    double x[3 * 4], w[4 * 5], b[5], y[3 * 5], dy[3 * 5];
} linear_case;

static double linear_objective(void *context) {
    linear_case *c = context;
    lh_ref_matmul(3, 4, 5, c->x, c->w, c->b, c->y);
    return weighted_sum(15, c->dy, c->y);
}

static void test_matmul_two_by_two_known(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, 4}, w[] = {5, 6, 7, 8}, b[] = {100, 200};
    const double plain[] = {19, 22, 43, 50}, with_bias[] = {119, 222, 143, 250};
    double y[4];
    lh_ref_matmul(2, 2, 2, x, w, NULL, y);
    lh_assert_close(y, plain, 4, 0, 0);
    lh_ref_matmul(2, 2, 2, x, w, b, y);
    lh_assert_close(y, with_bias, 4, 0, 0);
}

static void test_matmul_grad_odd_sizes_match_differences(void **state) {
    (void)state;
    linear_case c;
    double dx[12], dw[20] = {0}, db[5] = {0};
    fill(1, 12, c.x);
    fill(2, 20, c.w);
    fill(3, 5, c.b);
    fill(4, 15, c.dy);
    lh_ref_matmul_input_grad(3, 4, 5, c.dy, c.w, dx);
    lh_ref_matmul_weight_grad(3, 4, 5, c.x, c.dy, dw, db);
    check_gradient(linear_objective, &c, 12, c.x, dx);
    check_gradient(linear_objective, &c, 20, c.w, dw);
    check_gradient(linear_objective, &c, 5, c.b, db);
}

static void test_matmul_weight_grad_twice_adds_up(void **state) {
    (void)state;
    linear_case c;
    double once[20] = {0}, twice[20] = {0};
    fill(1, 12, c.x);
    fill(4, 15, c.dy);
    lh_ref_matmul_weight_grad(3, 4, 5, c.x, c.dy, once, NULL);
    for (int i = 0; i < 2; i++) lh_ref_matmul_weight_grad(3, 4, 5, c.x, c.dy, twice, NULL);
    for (int i = 0; i < 20; i++) once[i] *= 2;
    lh_assert_close(twice, once, 20, EXACT, EXACT);
}

static void test_relu_negative_and_zero_give_zero(void **state) {
    (void)state;
    const double x[] = {-2, 0, 3}, dy[] = {5, 6, 7}, want_y[] = {0, 0, 3}, want_dx[] = {0, 0, 7};
    double y[3], dx[3];
    lh_ref_relu(3, x, y);
    lh_ref_relu_grad(3, x, dy, dx);
    lh_assert_close(y, want_y, 3, 0, 0);
    lh_assert_close(dx, want_dx, 3, 0, 0);
}

/* ---- layer norm ---- */

typedef struct norm_case {
    double x[3 * 7], scale[7], offset[7], y[3 * 7], dy[3 * 7];
} norm_case;

static double norm_objective(void *context) {
    norm_case *c = context;
    lh_ref_layer_norm(3, 7, c->x, c->scale, c->offset, c->y);
    return weighted_sum(21, c->dy, c->y);
}

static void test_layer_norm_biased_variance_known(void **state) {
    (void)state;
    const double x[] = {1, 3}, scale[] = {2, 5}, offset[] = {10, 20}; /* mean 2, biased variance 1 */
    double y[2], inverse = 1 / sqrt(1 + 1e-5), want[] = {10 - 2 * inverse, 20 + 5 * inverse};
    lh_ref_layer_norm(1, 2, x, scale, offset, y);
    lh_assert_close(y, want, 2, EXACT, EXACT);
}

static void test_layer_norm_grad_odd_sizes_match_differences(void **state) {
    (void)state;
    norm_case c;
    double dx[21], dscale[7] = {0}, doffset[7] = {0};
    fill(1, 21, c.x);
    fill(2, 7, c.scale);
    fill(3, 7, c.offset);
    fill(4, 21, c.dy);
    lh_ref_layer_norm_grad(3, 7, c.x, c.scale, c.dy, dx, dscale, doffset);
    check_gradient(norm_objective, &c, 21, c.x, dx);
    check_gradient(norm_objective, &c, 7, c.scale, dscale);
    check_gradient(norm_objective, &c, 7, c.offset, doffset);
}

static double rms_objective(void *context) {
    norm_case *c = context;
    lh_ref_rms_norm(3, 7, c->x, c->scale, c->y);
    return weighted_sum(21, c->dy, c->y);
}

static void test_rms_norm_keeps_the_mean_known(void **state) {
    (void)state;
    const double x[] = {1, 7}, scale[] = {2, 5}; /* mean square 25 */
    double y[2], inverse = 1 / sqrt(25 + 1e-5), want[] = {2 * inverse, 35 * inverse};
    lh_ref_rms_norm(1, 2, x, scale, y);
    lh_assert_close(y, want, 2, EXACT, EXACT);
}

static void test_rms_norm_grad_odd_sizes_match_differences(void **state) {
    (void)state;
    norm_case c;
    double dx[21], dscale[7] = {0};
    fill(1, 21, c.x);
    fill(2, 7, c.scale);
    fill(4, 21, c.dy);
    lh_ref_rms_norm_grad(3, 7, c.x, c.scale, c.dy, dx, dscale);
    check_gradient(rms_objective, &c, 21, c.x, dx);
    check_gradient(rms_objective, &c, 7, c.scale, dscale);
}

/* ---- activations and gates ---- */

/* By the formulas in Python, with its erf, tanh and exp. */
static void test_activations_published_values(void **state) {
    (void)state;
    static const double x[] = {-3, -1, -0.5, 0, 0.5, 1, 3};
    static const double want[][7] = {
        [LH_REF_RELU] = {0, 0, 0, 0, 0.5, 1, 3},
        [LH_REF_GELU] = {-0.004050, -0.158655, -0.154269, 0, 0.345731, 0.841345, 2.995950},
        [LH_REF_GELU_TANH] = {-0.003637, -0.158808, -0.154286, 0, 0.345714, 0.841192, 2.996363},
        [LH_REF_SILU] = {-0.142278, -0.268941, -0.188770, 0, 0.311230, 0.731059, 2.857722}};
    for (int f = LH_REF_RELU; f <= LH_REF_SILU; f++) {
        double y[7];
        lh_ref_activation((lh_ref_nonlinearity)f, 7, x, y);
        lh_assert_close(y, want[f], 7, 0, SIX_DIGITS);
    }
}

typedef struct activation_case {
    lh_ref_nonlinearity f;
    double x[3 * 10], y[3 * 10], dy[3 * 10];
} activation_case;

static double activation_objective(void *context) {
    activation_case *c = context;
    lh_ref_activation(c->f, 30, c->x, c->y);
    return weighted_sum(30, c->dy, c->y);
}

static double gate_objective(void *context) {
    activation_case *c = context;
    lh_ref_gate(c->f, 3, 5, c->x, c->y);
    return weighted_sum(15, c->dy, c->y);
}

static void test_gradients_of_activations_and_gates_match_differences(void **state) {
    (void)state;
    for (int f = LH_REF_RELU; f <= LH_REF_SILU; f++) {
        activation_case c = {.f = (lh_ref_nonlinearity)f};
        double dx[30];
        fill(1, 30, c.x);
        fill(2, 30, c.dy);
        for (int i = 0; i < 30; i++) c.x[i] *= 4;
        lh_ref_activation_grad(c.f, 30, c.x, c.dy, dx);
        check_gradient(activation_objective, &c, 30, c.x, dx);
        lh_ref_gate_grad(c.f, 3, 5, c.x, c.dy, dx);
        check_gradient(gate_objective, &c, 30, c.x, dx);
    }
}

static void test_gate_takes_the_first_half_of_a_row(void **state) {
    (void)state;
    const double x[] = {1, -1, 10, 20, 2, 3, 30, 40}, want[] = {10, 0, 60, 120};
    double y[4];
    lh_ref_gate(LH_REF_RELU, 2, 2, x, y);
    lh_assert_close(y, want, 4, 0, 0);
}

/* ---- positions ---- */

static void test_sinusoid_width_64_published_values(void **state) {
    (void)state;
    static const int index[] = {0, 1, 31, 32, 33, 63};
    static const double one[] = {0.841471, 0.681561, 0.000133, 0.540302, 0.731761, 1.000000};
    static const double last[] = {-0.968319, 0.933968, 0.269594, 0.249715, -0.357356, 0.962974};
    double row[64];
    lh_ref_sinusoid(64, 1, row);
    for (int i = 0; i < 6; i++) lh_assert_close(&row[index[i]], &one[i], 1, 0, SIX_DIGITS);
    lh_ref_sinusoid(64, 2047, row);
    for (int i = 0; i < 6; i++) lh_assert_close(&row[index[i]], &last[i], 1, 0, SIX_DIGITS);
}

static const lh_ref_rope ROPE = {.base = 10000};
static const lh_ref_rope YARN = {.base = 10000,
                                 .scaling = LH_REF_YARN,
                                 .factor = 4,
                                 .original_length = 32,
                                 .beta_slow = 1,
                                 .beta_fast = 32,
                                 .attention_factor = 1.138629};

static void test_rotate_head_of_8_published_values(void **state) {
    (void)state;
    static const double want[] = {-1.272233, -1.838865, 1.683929, 4.707907, 4.817777, 6.147278, 6.975969, 8.020964};
    const int32_t position = 3;
    double x[] = {1, 2, 3, 4, 5, 6, 7, 8}, cosine[4], sine[4];
    lh_ref_rotation(1, 8, &ROPE, &position, cosine, sine);
    lh_ref_rotate(1, 1, 8, cosine, sine, x);
    lh_assert_close(x, want, 8, 0, SIX_DIGITS);
}

static void test_unrotate_after_rotate_gives_input_back(void **state) {
    (void)state;
    const int32_t positions[] = {0, 5, 63};
    double x[3 * 2 * 6], kept[36], cosine[9], sine[9];
    fill(1, 36, x);
    memcpy(kept, x, sizeof x);
    lh_ref_rotation(3, 6, &ROPE, positions, cosine, sine);
    lh_ref_rotate(3, 2, 6, cosine, sine, x);
    lh_assert_close(x, kept, 12, 0, 0); /* position 0 does not turn */
    assert_true(fabs(x[12] - kept[12]) > 1e-3);
    lh_ref_unrotate(3, 2, 6, cosine, sine, x);
    lh_assert_close(x, kept, 36, EXACT, EXACT);
}

static void test_turn_linear_is_a_quarter(void **state) {
    (void)state;
    const lh_ref_rope linear = {.base = 10000, .scaling = LH_REF_LINEAR, .factor = 4};
    const double want[] = {0.25, 0.025, 0.0025, 0.00025};
    for (int m = 0; m < 4; m++) assert_true(fabs(lh_ref_turn(&linear, 8, m) / want[m] - 1) < EXACT);
}

/* The first pair keeps its speed, the last is four times slower, those between lie on a geometric sequence. */
static void test_turn_ntk_slows_the_last_pair_by_factor(void **state) {
    (void)state;
    const lh_ref_rope ntk = {.base = 10000, .scaling = LH_REF_NTK, .factor = 4};
    const double want[] = {1, 0.1 * pow(4, -1.0 / 3), 0.01 * pow(4, -2.0 / 3), 0.001 / 4};
    for (int m = 0; m < 4; m++) assert_true(fabs(lh_ref_turn(&ntk, 8, m) / want[m] - 1) < EXACT);
}

/* Within 2 pi n positions, a pair of speed theta makes n theta turns. n = 1000: 1000, 100, 10 and 1 turns; the third is
 * (10 - 1) / (32 - 1) of the way. */
static void test_turn_yarn_keeps_the_fast_and_slows_the_slow(void **state) {
    (void)state;
    lh_ref_rope yarn = YARN;
    yarn.original_length = 2000 * acos(-1.0);
    const double want[] = {1, 0.1, 0.01 * (22.0 / 31 / 4 + 9.0 / 31), 0.001 / 4};
    for (int m = 0; m < 4; m++) assert_true(fabs(lh_ref_turn(&yarn, 8, m) / want[m] - 1) < 1e-12);
}

static void test_turn_factor_one_is_no_scaling(void **state) {
    (void)state;
    for (int scaling = LH_REF_LINEAR; scaling <= LH_REF_YARN; scaling++) {
        lh_ref_rope rope = YARN;
        rope.scaling = (lh_ref_scaling)scaling;
        rope.factor = 1;
        for (int m = 0; m < 4; m++) assert_true(fabs(lh_ref_turn(&rope, 8, m) / lh_ref_turn(&ROPE, 8, m) - 1) < EXACT);
    }
}

/* Logits are divided by the temperature t, sqrt(1 / t) = attention_factor: both vectors grow by it. */
static void test_rotation_yarn_grows_by_attention_factor(void **state) {
    (void)state;
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
    return weighted_sum(QKV, c->dout, c->out);
}

static attention_case new_attention_case(void) {
    attention_case c = {.shape = {.tokens = T, .heads = H, .head_width = D}};
    fill(1, QKV, c.q);
    fill(2, QKV, c.k);
    fill(3, QKV, c.v);
    fill(4, QKV, c.dout);
    return c;
}

static void check_attention_gradients(attention_case *c) {
    double dq[QKV], dk[QKV], dv[QKV], drelative[T * QKV] = {0}, dcontent[H * D] = {0}, dposition[H * D] = {0},
                                                    dscore[H * T * T] = {0};
    lh_ref_pair_grad grad = {c->shape.relative ? drelative : NULL, dcontent, dposition, dscore};
    attention_objective(c);
    lh_ref_attend_grad(&c->shape, c->q, c->k, c->v, c->weights, c->dout, dq, dk, dv, &grad);
    check_gradient(attention_objective, c, QKV, c->q, dq);
    check_gradient(attention_objective, c, QKV, c->k, dk);
    check_gradient(attention_objective, c, QKV, c->v, dv);
    if (c->shape.relative) check_gradient(attention_objective, c, T * QKV, c->relative, drelative);
    if (c->shape.content_bias) check_gradient(attention_objective, c, H * D, c->content_bias, dcontent);
    if (c->shape.position_bias) check_gradient(attention_objective, c, H * D, c->position_bias, dposition);
    if (c->shape.score) check_gradient(attention_objective, c, H * T * T, c->score, dscore);
}

static void test_attend_one_token_gives_value(void **state) {
    (void)state;
    attention_case c = new_attention_case();
    c.shape.tokens = 1;
    lh_ref_attend(&c.shape, c.q, c.k, c.v, c.weights, c.out);
    lh_assert_close(c.out, c.v, H * D, 0, 0);
}

static void test_attend_large_scores_pick_one_key(void **state) {
    (void)state;
    attention_case c = new_attention_case();
    memset(c.q, 0, sizeof c.q);
    memset(c.k, 0, sizeof c.k);
    for (int i = 0; i < T; i++) c.q[i * H * D] = 1e3; /* head 0, feature 0 */
    c.k[2 * H * D] = 4e3;                             /* a score of 2e6 for key 2: exp alone would overflow */
    lh_ref_attend(&c.shape, c.q, c.k, c.v, c.weights, c.out);
    lh_assert_close(c.out, c.v + 2 * H * D, D, 0, 0);
    for (int d = 0; d < D; d++) { /* head 1: all scores equal */
        double mean = 0;
        for (int j = 0; j < T; j++) mean += c.v[j * H * D + D + d] / T;
        lh_assert_close(&c.out[D + d], &mean, 1, EXACT, EXACT);
    }
}

static void test_attend_score_scaled_by_root_of_head_width(void **state) {
    (void)state;
    attention_case c = new_attention_case();
    c.shape.tokens = 2;
    memset(c.q, 0, sizeof c.q);
    memset(c.k, 0, sizeof c.k);
    c.q[0] = 1;
    c.k[0] = 2; /* scores of query 0, head 0: 2 / sqrt(4) = 1 and 0 */
    lh_ref_attend(&c.shape, c.q, c.k, c.v, c.weights, c.out);
    double want = exp(1) / (exp(1) + 1);
    lh_assert_close(c.weights, &want, 1, EXACT, EXACT);
}

static void test_attend_grad_plain_matches_differences(void **state) {
    (void)state;
    attention_case c = new_attention_case();
    check_attention_gradients(&c);
}

static void test_attend_grad_rotated_matches_differences(void **state) {
    (void)state;
    attention_case c = new_attention_case();
    const int32_t positions[T] = {0, 3, 4, 17, 60};
    lh_ref_rotation(T, D, &ROPE, positions, c.cosine, c.sine);
    c.shape.cosine = c.cosine;
    c.shape.sine = c.sine;
    check_attention_gradients(&c);
}

static void test_attend_grad_relative_matches_differences(void **state) {
    (void)state;
    attention_case c = new_attention_case();
    fill(5, T * QKV, c.relative);
    fill(6, H * D, c.content_bias);
    fill(7, H * D, c.position_bias);
    fill(8, H * T * T, c.score);
    c.shape.relative = c.relative;
    c.shape.score = c.score;
    check_attention_gradients(&c); /* Shaw: no biases */
    c.shape.content_bias = c.content_bias;
    c.shape.position_bias = c.position_bias;
    check_attention_gradients(&c);
}

/* Two tokens, one channel in use: logit (q + u) k + (q + v) r, halved, plus the score. */
static void test_attend_relative_known_logits(void **state) {
    (void)state;
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
    double want = 1 / (1 + exp(second - first));
    lh_assert_close(c.weights, &want, 1, EXACT, EXACT);
}

/* Four tokens, plain and with distances 3, 10, 63: minus the distance, half a step less to the left, times the slope. */
static void test_alibi_known_values(void **state) {
    (void)state;
    const int32_t index[] = {0, 1, 2, 3}, drawn[] = {0, 3, 10, 63};
    const double plain[] = {0, -1, -2, -3, -0.5, 0, -1, -2, -1.5, -0.5, 0, -1, -2.5, -1.5, -0.5, 0};
    const double random[] = {0, -3, -10, -63, -62.5, -9.5, -2.5, 0}; /* rows 0 and 3 */
    lh_vectors_facts facts = {.positions = 64};
    int32_t distances[16];
    double score[32];
    lh_vectors_distances(&facts, 4, index, NULL, distances);
    lh_vectors_alibi(2, 16, distances, score);
    for (int i = 0; i < 16; i++) assert_true(score[i] == plain[i] / 16 && score[16 + i] == plain[i] / 256);
    facts.drawn = true;
    lh_vectors_distances(&facts, 4, index, drawn, distances);
    lh_vectors_alibi(2, 16, distances, score);
    for (int j = 0; j < 4; j++) assert_true(score[j] == random[j] / 16 && score[12 + j] == random[4 + j] / 16);
}

static void test_attend_rotated_depends_on_position_differences(void **state) {
    (void)state;
    attention_case c = new_attention_case();
    const int32_t positions[T] = {0, 3, 4, 17, 60}, shifted[T] = {1000, 1003, 1004, 1017, 1060};
    double kept[QKV];
    c.shape.cosine = c.cosine;
    c.shape.sine = c.sine;
    lh_ref_rotation(T, D, &ROPE, positions, c.cosine, c.sine);
    attention_objective(&c);
    memcpy(kept, c.out, sizeof kept);
    lh_ref_rotation(T, D, &ROPE, shifted, c.cosine, c.sine);
    attention_objective(&c);
    lh_assert_close(c.out, kept, QKV, 1e-12, 1e-12); /* angles of 1000 radians carry an error of 1e-13 */
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

static void test_cross_entropy_equal_logits_give_log_classes(void **state) {
    (void)state;
    const double logits[6] = {7, 7, 7, -900, -900, -900};
    const uint16_t labels[] = {0, 2};
    double loss = lh_ref_cross_entropy(2, 3, logits, labels, 1, NULL), want = 2 * log(3);
    lh_assert_close(&loss, &want, 1, 1e-12, 0); /* 900 + log 3 - 900 */
}

static void test_cross_entropy_grad_matches_differences(void **state) {
    (void)state;
    loss_case c = {.labels = {0, 2, 1, 1}};
    double dlogits[12];
    fill(1, 12, c.logits);
    lh_ref_cross_entropy(4, 3, c.logits, c.labels, 0.25, dlogits);
    check_gradient(loss_objective, &c, 12, c.logits, dlogits);
}

/* ---- dropout ---- */

static lh_ref_dropout some_dropout(double rate) {
    lh_ref_dropout site = {lh_key_of_seed(0x123456789abcdefULL), 42, lh_site(LH_DOMAIN_DROPOUT, 3, 1), rate};
    return site;
}

/* ---- noise ---- */

/* Python's: Philox4x32-10 of the same counter by hand, math.log, math.cos. */
static void test_normal_of_known_words(void **state) {
    (void)state;
    const lh_key key = lh_key_of_seed(1);
    const uint32_t site = lh_site(LH_DOMAIN_EVAL_NOISE, 3, 1);
    const double want[] = {-1.0918770793035835, 0.74476641295364543, -1.2812794292117002, -0.13212756038969825};
    double got[4];
    for (uint32_t e = 0; e < 4; e++) got[e] = lh_ref_normal(key, 16, site, 9, 8 + e);
    lh_assert_close(got, want, 4, 1e-12, 0);
}

/* Mean, variance, fourth moment, and what lies beyond two deviations, of a million. */
static void test_normal_has_the_moments_of_a_normal(void **state) {
    (void)state;
    enum { EXAMPLES = 100, EACH = 10000 };
    const lh_key key = lh_key_of_seed(5);
    double sum = 0, squares = 0, fourth = 0, neighbours = 0, beyond = 0, last = 0, count = (double)EXAMPLES * EACH;
    for (uint32_t b = 0; b < EXAMPLES; b++)
        for (uint32_t e = 0; e < EACH; e++) {
            double z = lh_ref_normal(key, 7, lh_site(LH_DOMAIN_EVAL_NOISE, 0, 0), b, e);
            sum += z;
            squares += z * z;
            fourth += z * z * z * z;
            neighbours += z * last;
            beyond += fabs(z) > 2;
            last = z;
        }
    assert_true(fabs(sum / count) < 4e-3);
    assert_true(fabs(squares / count - 1) < 6e-3);
    assert_true(fabs(fourth / count - 3) < 4e-2);
    assert_true(fabs(neighbours / count) < 4e-3);
    assert_true(fabs(beyond / count - 0.0455) < 1e-3);
}

static void test_dropout_bits_come_from_halves_low_first(void **state) {
    (void)state;
    const lh_ref_dropout site = some_dropout(0.5);
    const uint32_t counter[4] = {2, site.site, 9, 42}; /* elements 16 to 23 of example 9 */
    uint32_t word[4];
    lh_philox(counter, site.key, word);
    for (uint32_t e = 0; e < 8; e++) {
        uint32_t bits = e % 2 ? word[e / 2] >> 16 : word[e / 2] & 0xffff;
        assert_int_equal(lh_ref_dropout_keeps(&site, 9, 16 + e), bits >= 32768);
    }
}

static void test_dropout_share_kept_is_near_rate(void **state) {
    (void)state;
    const lh_ref_dropout site = some_dropout(0.1);
    int kept = 0, count = 100000;
    for (int e = 0; e < count; e++) kept += lh_ref_dropout_keeps(&site, 0, (uint32_t)e);
    assert_true(fabs(kept / (double)count - 0.9) < 5 * sqrt(0.09 / count)); /* five standard deviations */
}

/* Element (h * T + i) * S + j of attention's weights: those of neighbouring heads, queries and keys fall as they would by
 * themselves, and so do those of another sequence, step, layer and place. */
static void test_dropout_of_weights_is_independent_over_heads_queries_and_keys(void **state) {
    (void)state;
    enum { HEADS = 8, QUERIES = 40, KEYS = 56, COUNT = HEADS * QUERIES * KEYS };
    const lh_ref_dropout site = some_dropout(0.3);
    lh_ref_dropout other_step = site, other_layer = site, other_place = site;
    other_step.step++;
    other_layer.site = lh_site(LH_DOMAIN_DROPOUT, 4, 1);
    other_place.site = lh_site(LH_DOMAIN_DROPOUT, 3, 0);
    const uint32_t apart[] = {1, KEYS, QUERIES * KEYS, 2, 8, KEYS + 1};
    enum { APART = sizeof apart / sizeof *apart, OTHERS = 4 };
    double kept = 0, both[APART + OTHERS] = {0};
    for (uint32_t e = 0; e < COUNT; e++) {
        if (!lh_ref_dropout_keeps(&site, 5, e)) continue;
        kept++;
        for (int a = 0; a < APART; a++) both[a] += lh_ref_dropout_keeps(&site, 5, (e + apart[a]) % COUNT);
        both[APART] += lh_ref_dropout_keeps(&site, 6, e);
        both[APART + 1] += lh_ref_dropout_keeps(&other_step, 5, e);
        both[APART + 2] += lh_ref_dropout_keeps(&other_layer, 5, e);
        both[APART + 3] += lh_ref_dropout_keeps(&other_place, 5, e);
    }
    assert_true(fabs(kept / COUNT - 0.7) < 5 * sqrt(0.21 / COUNT));
    for (int a = 0; a < APART + OTHERS;
         a++) /* a pair has variance p^2 (1 - p^2), and 2 p^3 (1 - p) with its neighbours */
        assert_true(fabs(both[a] / COUNT - 0.49) < 5 * sqrt(0.46 / COUNT));
}

static void test_drop_kept_values_are_scaled(void **state) {
    (void)state;
    const lh_ref_dropout site = some_dropout(0.25);
    double x[33], y[33];
    fill(1, 33, x);
    lh_ref_drop(&site, 7, 33, x, y);
    for (int e = 0; e < 33; e++) {
        double want = lh_ref_dropout_keeps(&site, 7, (uint32_t)e) ? x[e] / 0.75 : 0;
        lh_assert_close(&y[e], &want, 1, 0, 0);
    }
}

static void test_drop_rate_zero_keeps_all(void **state) {
    (void)state;
    const lh_ref_dropout site = some_dropout(0);
    double x[33], y[33];
    fill(1, 33, x);
    lh_ref_drop(&site, 0, 33, x, y);
    lh_assert_close(y, x, 33, 0, 0);
}

/* ---- Adam ---- */

static const lh_ref_adam ADAM = {.learning_rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .clip_norm = 1};

/* Two updates by hand: with gradients 0.3 and then -0.1 the moments are 0.03, 0.017 and 9e-5, 9.991e-5. */
static void test_adam_two_steps_known(void **state) {
    (void)state;
    double p = 2, first = 0, second = 0, g = 0.3, want = 2 - 1e-3 * 0.3 / (0.3 + 1e-8);
    lh_ref_adam_update(&ADAM, 1, 0.3, 1, &g, &p, &first, &second);
    lh_assert_close(&p, &want, 1, EXACT, 0);
    g = -0.1;
    want -= 1e-3 * (0.017 / 0.19) / (sqrt(9.991e-5 / (1 - 0.998001)) + 1e-8);
    lh_ref_adam_update(&ADAM, 2, 0.1, 1, &g, &p, &first, &second);
    lh_assert_close(&p, &want, 1, EXACT, 0);
}

static void test_adam_long_gradient_is_clipped_to_norm(void **state) {
    (void)state;
    double g[] = {3, 4}, p[2] = {0}, first[2] = {0}, second[2] = {0};
    const double moment[] = {0.1 * 0.6, 0.1 * 0.8};
    lh_ref_adam_update(&ADAM, 1, 5, 2, g, p, first, second);
    lh_assert_close(first, moment, 2, EXACT, 0);
}

static void test_adam_short_gradient_or_no_limit_is_not_clipped(void **state) {
    (void)state;
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

/* The stored updates of PyTorch: tests/reference/optimizers.py. */
enum { STORED_STEPS = 50, STORED_SIZE = 8 };
static const double STORED_RATE = 1e-2;

typedef struct stored_updates {
    lh_st_file *file;
    double *gradient, *parameter, state[2][STORED_SIZE];
} stored_updates;

static double *stored_doubles(const lh_st_file *file, const char *name, int want) {
    int count = 0;
    double *values = lh_vectors_doubles(file, name, &count);
    assert_non_null(values);
    assert_int_equal(count, want);
    return values;
}

static stored_updates open_updates(void) {
    lh_error error;
    stored_updates s = {0};
    lh_assert_ok(lh_st_read("tests/reference/optimizers.safetensors", &s.file, &error), &error);
    s.gradient = stored_doubles(s.file, "gradient", STORED_STEPS * STORED_SIZE);
    s.parameter = stored_doubles(s.file, "parameter", STORED_SIZE);
    return s;
}

static void close_updates(stored_updates *s) {
    free(s->gradient);
    free(s->parameter);
    lh_st_free(s->file);
}

static void update_of(const char *name, int step, double rate, const double *gradient, stored_updates *s) {
    const lh_ref_adam adam = {.learning_rate = rate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
    const lh_ref_sgd sgd = {.learning_rate = rate};
    double *p = s->parameter, *first = s->state[0], *second = s->state[1];
    if (strcmp(name, "adam") == 0) lh_ref_adam_update(&adam, step, 0, STORED_SIZE, gradient, p, first, second);
    else if (strcmp(name, "adamw") == 0)
        lh_ref_adamw_update(&adam, 0.1, step, 0, STORED_SIZE, gradient, p, first, second);
    else if (strcmp(name, "sgd") == 0) lh_ref_sgd_update(&sgd, 0, STORED_SIZE, gradient, p);
    else lh_ref_momentum_update(&sgd, 0.9, 0, STORED_SIZE, gradient, p, first);
}

/* Behind the first step and the last, with the stored rates or a constant one; stored: the tensors' name. */
static void check_updates(const char *optimizer, const char *rates, const char *stored) {
    char name[64];
    stored_updates s = open_updates();
    double *rate = rates ? stored_doubles(s.file, rates, STORED_STEPS) : NULL;
    for (int step = 1; step <= STORED_STEPS; step++) {
        update_of(optimizer, step, rate ? rate[step - 1] : STORED_RATE, s.gradient + (step - 1) * STORED_SIZE, &s);
        snprintf(name, sizeof name, "%s.%d", stored, step);
        if (!lh_st_find(s.file, name)) continue;
        double *want = stored_doubles(s.file, name, STORED_SIZE);
        lh_assert_close(s.parameter, want, STORED_SIZE, 1e-13, 1e-13);
        free(want);
    }
    assert_non_null(lh_st_find(s.file, name)); /* the last step was compared */
    free(rate);
    close_updates(&s);
}

static void test_updates_are_those_of_pytorch(void **state) {
    (void)state;
    static const char *const names[] = {"adam", "adamw", "sgd", "momentum"};
    for (int i = 0; i < 4; i++) check_updates(names[i], NULL, names[i]);
    check_updates("momentum", "rate.cosine", "momentum_cosine");
}

static void test_sgd_long_gradient_is_clipped_to_norm(void **state) {
    (void)state;
    const lh_ref_sgd sgd = {.learning_rate = 0.5, .clip_norm = 1};
    double g[] = {3, 4}, p[2] = {0}, q[2] = {0}, running[2] = {0};
    const double want[] = {-0.3, -0.4}, sum[] = {0.6, 0.8};
    lh_ref_sgd_update(&sgd, 5, 2, g, p);
    lh_ref_momentum_update(&sgd, 0.9, 5, 2, g, q, running);
    lh_assert_close(p, want, 2, EXACT, 0);
    lh_assert_close(q, want, 2, EXACT, 0);
    lh_assert_close(running, sum, 2, EXACT, 0);
}

/* ---- networks ---- */

/* A random direction of some tensors: numbers from -1 to 1. */
typedef struct direction {
    lh_ref_tensor *tensors;
    int count;
    double **move;
} direction;

static int size_of(const lh_ref_tensor *tensor) { return tensor->rows * tensor->columns; }

static direction new_direction(lh_ref_tensor *tensors, int count) {
    direction d = {tensors, count, malloc((size_t)count * sizeof *d.move)};
    assert_non_null(d.move);
    for (int i = 0; i < count; i++) {
        d.move[i] = malloc((size_t)size_of(&tensors[i]) * sizeof **d.move);
        assert_non_null(d.move[i]);
        fill((uint64_t)i + 500, size_of(&tensors[i]), d.move[i]);
    }
    return d;
}

static void free_direction(direction *d) {
    for (int i = 0; i < d->count; i++) free(d->move[i]);
    free(d->move);
}

static void move_along(const direction *d, double step) {
    for (int i = 0; i < d->count; i++)
        for (int e = 0; e < size_of(&d->tensors[i]); e++) d->tensors[i].value[e] += step * d->move[i][e];
}

static double objective_of(lh_ref_model *model, const lh_ref_batch *batch) {
    lh_ref_batch forward = *batch;
    forward.backward = false;
    return forward.loss_scale * lh_ref_run(model, &forward, NULL);
}

static double difference_along(lh_ref_model *model, const lh_ref_batch *batch, const direction *d, double step) {
    move_along(d, step);
    double above = objective_of(model, batch);
    move_along(d, -2 * step);
    double below = objective_of(model, batch);
    move_along(d, step);
    return (above - below) / (2 * step);
}

/* The slope of the objective along the direction, by gradients and by differences. A corner of a ReLU within the step
 * would make them differ: the values are fixed, and lie beside all of them. Two steps, because the error of one grows
 * with its square, and a network without norms may be steep: what is left of Richardson's mean has the fourth power. */
static void check_direction(lh_ref_model *model, const lh_ref_batch *batch, lh_ref_tensor *tensors, int count) {
    const double step = 1e-6;
    direction d = new_direction(tensors, count);
    double analytic = 0;
    for (int i = 0; i < count; i++) analytic += weighted_sum(size_of(&tensors[i]), d.move[i], tensors[i].gradient);
    double whole = difference_along(model, batch, &d, step), half = difference_along(model, batch, &d, step / 2);
    double numeric = (4 * half - whole) / 3;
    if (fabs(numeric - analytic) > ALONG * (1 + fabs(numeric)))
        fail_msg("%s, %s and %d more: %.9g by gradients, %.9g by differences", model->network->id, tensors->name,
                 count - 1, analytic, numeric);
    free_direction(&d);
}

enum { NETWORK_TOKENS = 5, NETWORK_TARGETS = 4, NETWORK_LABELS = 2 };

/* Dropout on, positions of each layer its own, odd T, fewer labels than tokens. */
static lh_ref_batch network_batch(void) {
    static const uint16_t token[] = {0, 3, 2, 3, 3, 1, 1, 0, 3, 4}, target[] = {2, 0, 4, 1, 1, 3, 3, 0};
    static const uint16_t label[] = {0, 2, 1, 1};
    static int32_t positions[64 * NETWORK_TOKENS];
    for (int i = 0; i < 64 * NETWORK_TOKENS; i++)
        positions[i] = i % NETWORK_TOKENS + (i % NETWORK_TOKENS > i / NETWORK_TOKENS % NETWORK_TOKENS ? 2 : 0);
    return (lh_ref_batch){.sequences = 2,
                          .tokens = NETWORK_TOKENS,
                          .labels = NETWORK_LABELS,
                          .token = token,
                          .target_tokens = NETWORK_TARGETS,
                          .target = target,
                          .label = label,
                          .positions = positions,
                          .draws = 64,
                          .dropping = LH_REF_IN_TRAINING,
                          .key = lh_key_of_seed(5),
                          .step = 3,
                          .first_example = 11,
                          .loss_scale = 0.25,
                          .backward = true};
}

/* How many tokens every stream of a network knows. */
static int tokens_known(const lh_ref_network *network) {
    const lh_ref_scope *scope = network->scopes;
    int least = UINT16_MAX;
    for (int i = 0; i < scope->operation_count; i++) {
        const lh_ref_operation *op = &scope->operations[i];
        if (op->kind != LH_REF_EMBED) continue;
        int known = network->tensors[scope->first_tensor + op->tensor[LH_REF_TABLE]].rows + op->blanks;
        if (known < least) least = known;
    }
    return least;
}

static void copy_within(int count, int known, const uint16_t *from, uint16_t *to) {
    for (int i = 0; i < count; i++) to[i] = (uint16_t)(from[i] % known);
}

/* Along a direction of all tensors at once, or of each on its own. */
static void check_network_gradients(const lh_ref_network *network, bool each) {
    lh_ref_model *model = lh_ref_model_new(network);
    lh_ref_batch batch = network_batch();
    uint16_t token[2 * NETWORK_TOKENS], target[2 * NETWORK_TARGETS];
    copy_within(2 * NETWORK_TOKENS, tokens_known(network), batch.token, token);
    copy_within(2 * NETWORK_TARGETS, tokens_known(network), batch.target, target);
    batch.token = token;
    batch.target = target;
    for (int i = 0; i < model->tensor_count; i++) {
        lh_ref_tensor *tensor = &model->tensors[i];
        fill((uint64_t)i + 100, size_of(tensor), tensor->value);
        for (int e = 0; e < size_of(tensor); e++) tensor->value[e] *= 0.5;
    }
    lh_ref_run(model, &batch, NULL);
    check_direction(model, &batch, model->tensors, model->tensor_count);
    for (int i = 0; each && i < model->tensor_count; i++) check_direction(model, &batch, &model->tensors[i], 1);
    lh_ref_model_free(model);
}

static void test_run_grad_of_encodings_matches_differences(void **state) {
    (void)state;
    static const char *const specs[] = {
        "parity_none",          "parity_dropout_sincos",    "parity_dropout_relative",  "parity_learned",
        "parity_rope",          "parity_rope_yarn",         "parity_dropout_rand_rope", "parity_relative",
        "parity_shaw",          "parity_float64_geometric", "parity_geometric_raw",     "parity_geometric_plain",
        "parity_float64_labels"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) check_network_gradients(lh_network_of(specs[i]), i < 2);
}

/* What no spec has yet: two streams, values from outside, loops, several blocks, every operation; those are any_1, any_2
 * and so on, random_1 and so on those of specs. */
static void test_run_grad_of_random_networks_matches_differences(void **state) {
    (void)state;
    static const char *const prefixes[] = {"any_", "random_"};
    for (int p = 0; p < 2; p++) {
        int checked = 0;
        for (int i = 0; i < lh_network_count; i++) {
            if (strncmp(lh_networks[i].id, prefixes[p], strlen(prefixes[p])) != 0) continue;
            check_network_gradients(&lh_networks[i], false);
            checked++;
        }
        assert_true(checked > 0);
    }
}

/* The stored gradients are rounded to float32; elements far below the largest of their tensor are sums that cancel. */
static void check_stored_gradients(const lh_st_file *file, const lh_ref_model *model) {
    for (int i = 0; i < model->tensor_count; i++) {
        const lh_ref_tensor *tensor = &model->tensors[i];
        char name[64];
        int count = 0;
        snprintf(name, sizeof name, "gradient.%s", tensor->name);
        double *want = lh_vectors_doubles(file, name, &count);
        assert_non_null(want);
        assert_int_equal(count, tensor->rows * tensor->columns);
        lh_assert_close(tensor->gradient, want, (size_t)count, STORED_F32, 1e-12);
        free(want);
    }
}

/* The files' distances, made by an index shift and a clamp there, are those that vectors.c makes case by case. */
static void check_stored_distances(const lh_vectors_facts *facts, const lh_vectors_case *stored) {
    int tokens = stored->batch.tokens;
    if (!stored->distances) return;
    int32_t *distances = malloc(sizeof *distances * (size_t)tokens * (size_t)tokens);
    assert_non_null(distances);
    lh_vectors_distances(facts, tokens, stored->positions, stored->drawn, distances);
    for (int pair = 0; pair < tokens * tokens; pair++) assert_int_equal(distances[pair], stored->distances[pair]);
    free(distances);
}

static void check_stored(const char *name) {
    lh_st_file *file = lh_vectors_open(name);
    lh_vectors_facts facts = lh_vectors_facts_of(file);
    lh_ref_model *model = lh_vectors_model(file, lh_vectors_network(name));
    for (int i = 0; i < LH_VECTORS_LENGTHS; i++) {
        lh_vectors_case stored = lh_vectors_case_of(file, facts.length[i]);
        int count = stored.batch.sequences * stored.batch.labels * model->network->classes;
        double *logits = malloc((size_t)count * sizeof *logits);
        assert_non_null(logits);
        check_stored_distances(&facts, &stored);
        lh_ref_model_clear(model);
        double loss = stored.batch.loss_scale * lh_ref_run(model, &stored.batch, logits);
        lh_assert_close(logits, stored.logits, (size_t)count, STORED_F64, STORED_F64);
        lh_assert_close(&loss, &stored.loss, 1, STORED_F64, 0);
        if (facts.length[i] == facts.gradient_length) check_stored_gradients(file, model);
        free(logits);
        lh_vectors_case_free(&stored);
    }
    lh_ref_model_free(model);
    lh_st_free(file);
}

static void test_run_all_networks_match_stored_vectors(void **state) {
    (void)state;
    for (int i = 0; i < LH_VECTORS_FILES; i++) {
        print_message("           %s\n", lh_vectors_name[i]);
        check_stored(lh_vectors_name[i]);
    }
}

static void test_run_without_positions_same_logits_everywhere(void **state) {
    (void)state;
    lh_st_file *file = lh_vectors_open("none");
    lh_vectors_case stored = lh_vectors_case_of(file, lh_vectors_facts_of(file).gradient_length);
    int classes = lh_vectors_network("none")->classes;
    for (int t = 1; t < stored.batch.labels; t++)
        lh_assert_close(stored.logits + t * classes, stored.logits, (size_t)classes, STORED_F64, STORED_F64);
    lh_vectors_case_free(&stored);
    lh_st_free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul_two_by_two_known),
        cmocka_unit_test(test_matmul_grad_odd_sizes_match_differences),
        cmocka_unit_test(test_matmul_weight_grad_twice_adds_up),
        cmocka_unit_test(test_relu_negative_and_zero_give_zero),
        cmocka_unit_test(test_layer_norm_biased_variance_known),
        cmocka_unit_test(test_layer_norm_grad_odd_sizes_match_differences),
        cmocka_unit_test(test_rms_norm_keeps_the_mean_known),
        cmocka_unit_test(test_rms_norm_grad_odd_sizes_match_differences),
        cmocka_unit_test(test_activations_published_values),
        cmocka_unit_test(test_gradients_of_activations_and_gates_match_differences),
        cmocka_unit_test(test_gate_takes_the_first_half_of_a_row),
        cmocka_unit_test(test_sinusoid_width_64_published_values),
        cmocka_unit_test(test_rotate_head_of_8_published_values),
        cmocka_unit_test(test_unrotate_after_rotate_gives_input_back),
        cmocka_unit_test(test_turn_linear_is_a_quarter),
        cmocka_unit_test(test_turn_ntk_slows_the_last_pair_by_factor),
        cmocka_unit_test(test_turn_yarn_keeps_the_fast_and_slows_the_slow),
        cmocka_unit_test(test_turn_factor_one_is_no_scaling),
        cmocka_unit_test(test_rotation_yarn_grows_by_attention_factor),
        cmocka_unit_test(test_attend_one_token_gives_value),
        cmocka_unit_test(test_attend_large_scores_pick_one_key),
        cmocka_unit_test(test_attend_score_scaled_by_root_of_head_width),
        cmocka_unit_test(test_attend_grad_plain_matches_differences),
        cmocka_unit_test(test_attend_grad_rotated_matches_differences),
        cmocka_unit_test(test_attend_grad_relative_matches_differences),
        cmocka_unit_test(test_attend_relative_known_logits),
        cmocka_unit_test(test_alibi_known_values),
        cmocka_unit_test(test_attend_rotated_depends_on_position_differences),
        cmocka_unit_test(test_cross_entropy_equal_logits_give_log_classes),
        cmocka_unit_test(test_cross_entropy_grad_matches_differences),
        cmocka_unit_test(test_normal_of_known_words),
        cmocka_unit_test(test_normal_has_the_moments_of_a_normal),
        cmocka_unit_test(test_dropout_bits_come_from_halves_low_first),
        cmocka_unit_test(test_dropout_share_kept_is_near_rate),
        cmocka_unit_test(test_dropout_of_weights_is_independent_over_heads_queries_and_keys),
        cmocka_unit_test(test_drop_kept_values_are_scaled),
        cmocka_unit_test(test_drop_rate_zero_keeps_all),
        cmocka_unit_test(test_adam_two_steps_known),
        cmocka_unit_test(test_adam_long_gradient_is_clipped_to_norm),
        cmocka_unit_test(test_adam_short_gradient_or_no_limit_is_not_clipped),
        cmocka_unit_test(test_updates_are_those_of_pytorch),
        cmocka_unit_test(test_sgd_long_gradient_is_clipped_to_norm),
        cmocka_unit_test(test_run_grad_of_encodings_matches_differences),
        cmocka_unit_test(test_run_grad_of_random_networks_matches_differences),
        cmocka_unit_test(test_run_all_networks_match_stored_vectors),
        cmocka_unit_test(test_run_without_positions_same_logits_everywhere),
    };
    return cmocka_run_group_tests_name("ref", tests, NULL, NULL);
}
