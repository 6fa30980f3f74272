/* kernels/cpu: vectors, exponentials, and the softmax with its loss, compared with exp() and kernels/ref. */
#include "support/lh_kernels.h"

#include "base/cpu_level.h"
#include "kernels/cpu/crossentropy.h"
#include "kernels/cpu/math.h"
#include "kernels/ref/ref.h"

/* ---- vector.h ---- */

static void test_sum_of_counting_lanes_is_a_triangle_number(void **state) {
    vector x;
    for (int i = 0; i < LANES; i++) x[i] = (real)(i + 1);
    assert_true(sum_lanes(x) == LANES * (LANES + 1) / 2);
}

static void test_maximum_in_either_order_is_the_larger(void **state) {
    vector a = broadcast(-3), b = broadcast(2);
    assert_true(maximum(a, b)[0] == 2 && maximum(b, a)[LANES - 1] == 2);
}

static void test_round_up_gives_next_multiple(void **state) {
    assert_int_equal(round_up(0, 6), 0);
    assert_int_equal(round_up(1, 6), 6);
    assert_int_equal(round_up(6, 6), 6);
    assert_int_equal(round_up(7, 6), 12);
}

/* ---- math.h ---- */

static void test_exp_negative_has_small_relative_errors_in_its_whole_range(void **state) {
    const double lowest = REAL_BYTES == 8 ? -707 : -86.9, allowed = REAL_BYTES == 8 ? 4e-16 : 2e-7;
    for (int i = 0; i < 200000; i++) {
        real x = (real)(lowest * i / 200000 * (i % 2 ? 1 : 1e-3)); /* small arguments too */
        double actual = exp_negative(broadcast(x))[i % LANES], expected = exp(x);
        if (!(fabs(actual - expected) <= allowed * expected)) lh_assert_close(&actual, &expected, 1, allowed, 0);
    }
}

static void test_exp_negative_of_zero_and_far_below_is_exact(void **state) {
    assert_true(exp_negative(broadcast(0))[0] == 1);
    assert_true(exp_negative(broadcast((real)-INFINITY))[0] == 0);
    assert_true(exp_negative(broadcast(REAL_BYTES == 8 ? (real)-708.1 : (real)-87.1))[0] == 0);
    assert_true(isnan(exp_negative(broadcast((real)NAN))[0]));
}

static void test_exp_negative_of_any_nan_is_nan(void **state) {
    for (real_bits nan_bit = 1; nan_bit <= 512; nan_bit *= 2) {
        bits payload = (bits)broadcast(-(real)NAN) | (nan_bit - 1) | nan_bit;
        assert_true(isnan(exp_negative((vector)payload)[0]) && isnan(exp_negative((vector)(payload << 1 >> 1))[0]));
    }
    assert_true(isnan(exp_negative((vector)((bits){0} - 1))[LANES - 1])); /* a NaN with all bits set */
}

static vector exp_of_one_vector(vector x) {
    exp_for_softmax(1, &x);
    return x;
}

static void test_exp_for_softmax_has_small_relative_errors_in_its_whole_range(void **state) {
    const double lowest = REAL_BYTES == 8 ? -707 : -86.9, ulp = REAL_BYTES == 8 ? 0x1p-52 : 0x1p-23;
    for (int i = 0; i < 200000; i++) {
        real x = (real)(lowest * i / 200000 * (i % 2 ? 1 : 1e-3)); /* small arguments too */
        double actual = exp_of_one_vector(broadcast(x))[i % LANES], expected = exp(x), allowed = (2.2 - 0.65 * x) * ulp;
        if (!(fabs(actual - expected) <= allowed * expected)) lh_assert_close(&actual, &expected, 1, allowed, 0);
    }
}

static void test_exp_for_softmax_of_zero_far_below_and_nan_is_exact(void **state) {
    assert_true(exp_of_one_vector(broadcast(0))[0] == 1);
    assert_true(exp_of_one_vector(broadcast((real)-INFINITY))[0] == 0);
    assert_true(exp_of_one_vector(broadcast(REAL_BYTES == 8 ? (real)-708.1 : (real)-87.1))[0] == 0);
    assert_true(exp_of_one_vector(broadcast(-(real)0x1p127))[0] == 0);
    assert_true(isnan(exp_of_one_vector(broadcast((real)INFINITY) - broadcast((real)INFINITY))[0]));
}

static void test_exp_weights_sums_any_nan_to_nan(void **state) {
    for (real_bits nan_bit = 1; nan_bit <= 512; nan_bit *= 2) {
        vector nan = (vector)((bits)broadcast((real)NAN) | nan_bit);
        real weights[5 * LANES];
        for (int j = 0; j < 5; j++) store(weights + j * LANES, nan);
        assert_true(isnan(exp_weights(5, nan, weights)[0]));
    }
}

/* Each exponential has the same bits in a group of SIDE_BY_SIDE and alone. */
static void test_exp_weights_are_exponentials_with_their_sum_in_order(void **state) {
    enum { MAX_COUNT = 2 * SIDE_BY_SIDE + 3 };
    for (int count = 0; count <= MAX_COUNT; count++) {
        real weights[(MAX_COUNT + 1) * LANES];
        for (int i = 0; i < (MAX_COUNT + 1) * LANES; i++) weights[i] = (real)(-0.37 * (i * 29 % 101));
        vector sum = {0}, expected[MAX_COUNT + 1], max_logit = broadcast((real)1.5);
        for (int j = 0; j <= MAX_COUNT; j++) expected[j] = load(weights + j * LANES);
        for (int j = 0; j < count; j++) sum += expected[j] = exp_of_one_vector(expected[j] - max_logit);
        vector actual = exp_weights(count, max_logit, weights);
        assert_memory_equal(&actual, &sum, sizeof sum);
        assert_memory_equal(weights, expected, sizeof expected);
    }
}

/* Every head's weights have the bits that exp_for_softmax gives to a single number. */
INLINE void check_exp_heads(const int H) {
    enum { MAX_COUNT = 2 * SIDE_BY_SIDE * LANES + 3 };
    static real weights[(MAX_COUNT + 1) * LANES], logits[(MAX_COUNT + 1) * LANES];
    for (int count = 1; count <= MAX_COUNT; count += 1 + count / 3) {
        for (int i = 0; i < count * H; i++) weights[i] = logits[i] = (real)(-0.37 * (i * 29 % 101));
        exp_heads(H, count, weights);
        for (int h = 0; h < H; h++) {
            real max_logit = logits[h];
            for (int j = 1; j < count; j++) max_logit = logits[j * H + h] > max_logit ? logits[j * H + h] : max_logit;
            for (int j = 0; j < count; j++)
                assert_true(weights[j * H + h] == exp_of_one_vector(broadcast(logits[j * H + h] - max_logit))[0]);
        }
    }
}

static void test_exp_heads_subtract_the_largest_logit_of_each_head(void **state) {
    check_exp_heads(1);
    check_exp_heads(2);
    if (LANES >= 4) check_exp_heads(4);
    if (LANES >= 8) check_exp_heads(8);
}

/* ---- crossentropy.h ---- */

/* CE_C is the width of the model. The number of classes is larger than a vector, and not a multiple of it; CE_COLUMNS
 * is the next multiple. */
enum { CE_C = 8 * LANES, CE_CLASSES = LANES + 3, CE_COLUMNS = (CE_CLASSES + LANES - 1) / LANES * LANES };

/* Random numbers [rows][CE_COLUMNS], zero beyond the classes. */
static real *make_padded_columns(uint64_t seed, int rows) {
    real *w = make_random_reals(seed, rows * CE_COLUMNS, rows * CE_COLUMNS);
    for (int i = 0; i < rows * CE_COLUMNS; i++)
        if (i % CE_COLUMNS >= CE_CLASSES) w[i] = 0;
    return w;
}

/* The columns of w that belong to classes, as dense doubles. */
static double *copy_without_padding(const real *w, int rows) {
    double *out = malloc((size_t)(rows * CE_CLASSES) * sizeof *out);
    assert_non_null(out);
    for (int c = 0; c < rows; c++)
        for (int v = 0; v < CE_CLASSES; v++) out[c * CE_CLASSES + v] = w[c * CE_COLUMNS + v];
    return out;
}

static void check_padding_zero(const real *w, int rows) {
    for (int i = 0; i < rows * CE_COLUMNS; i++)
        if (i % CE_COLUMNS >= CE_CLASSES) assert_true(w[i] == 0);
}

static void test_class_logits_and_softmax_loss_match_reference(void **state) {
    real *x = make_random_reals(1, CE_C, CE_C), *w = make_padded_columns(2, CE_C), *b = make_padded_columns(3, 1);
    double *x_wide = to_doubles(x, CE_C), *w_wide = copy_without_padding(w, CE_C), *b_wide = copy_without_padding(b, 1);
    real logits[CE_COLUMNS];
    double expected[CE_CLASSES], gradient[CE_CLASSES];
    class_logits(CE_C, CE_COLUMNS, x, w, b, logits);
    lh_ref_matmul(1, CE_C, CE_CLASSES, x_wide, w_wide, b_wide, expected);
    check_close(logits, expected, CE_CLASSES, sum_tolerance(CE_C));
    uint16_t label = CE_CLASSES - 1;
    double loss = softmax_loss(CE_CLASSES, CE_COLUMNS, logits, label);
    double expected_loss = lh_ref_cross_entropy(1, CE_CLASSES, expected, &label, 1, gradient);
    lh_assert_close(&loss, &expected_loss, 1, sum_tolerance(CE_C + CE_CLASSES), 0);
    gradient[label] += 1; /* without the subtraction of the label this is the softmax */
    check_close(logits, gradient, CE_CLASSES, sum_tolerance(2 * CE_C));
    check_padding_zero(logits, 1);
    free_all(x, w, b, x_wide, w_wide, b_wide);
}

static void test_softmax_loss_of_large_logits_does_not_overflow(void **state) {
    real logits[CE_COLUMNS] = {0};
    logits[0] = 10000;
    double loss = softmax_loss(CE_CLASSES, CE_COLUMNS, logits, 1), expected = 10000;
    lh_assert_close(&loss, &expected, 1, 1e-6, 0);
    assert_true(logits[0] == 1);
}

static void test_first_class_wins_a_tie(void **state) {
    const real logits[] = {-1, 3, 2, 3};
    assert_int_equal(find_class(4, logits), 1);
    assert_int_equal(find_class(1, logits), 0);
}

static void test_class_grad_matches_reference(void **state) {
    real *x = make_random_reals(1, CE_C, CE_C), *w = make_padded_columns(2, CE_C), *g = make_padded_columns(3, 1);
    real *dw = make_padded_columns(4, CE_C), *db = make_padded_columns(5, 1), *dx = make_reals(CE_C);
    real *w_rows = make_reals(CE_CLASSES * CE_C);
    for (int i = 0; i < CE_CLASSES * CE_C; i++) w_rows[i] = w[i % CE_C * CE_COLUMNS + i / CE_C];
    double *x_wide = to_doubles(x, CE_C), *w_wide = copy_without_padding(w, CE_C), *g_wide = copy_without_padding(g, 1);
    double *dw_expected = copy_without_padding(dw, CE_C), *db_expected = copy_without_padding(db, 1), dx_expected[CE_C];
    class_grad(CE_C, CE_CLASSES, CE_COLUMNS, x, g, w_rows, dw, db, dx);
    lh_ref_matmul_weight_grad(1, CE_C, CE_CLASSES, x_wide, g_wide, dw_expected, db_expected);
    lh_ref_matmul_input_grad(1, CE_C, CE_CLASSES, g_wide, w_wide, dx_expected);
    for (int c = 0; c < CE_C; c++)
        check_close(dw + c * CE_COLUMNS, dw_expected + c * CE_CLASSES, CE_CLASSES, sum_tolerance(1));
    check_close(db, db_expected, CE_CLASSES, sum_tolerance(1));
    check_close(dx, dx_expected, CE_C, sum_tolerance(CE_CLASSES));
    check_padding_zero(dw, CE_C);
    check_padding_zero(db, 1);
    free_all(x, w, g, dw, db, dx, w_rows, x_wide, w_wide, g_wide, dw_expected, db_expected);
}

static const struct CMUnitTest TESTS[] = {
    cmocka_unit_test(test_sum_of_counting_lanes_is_a_triangle_number),
    cmocka_unit_test(test_maximum_in_either_order_is_the_larger),
    cmocka_unit_test(test_round_up_gives_next_multiple),
    cmocka_unit_test(test_exp_negative_has_small_relative_errors_in_its_whole_range),
    cmocka_unit_test(test_exp_negative_of_zero_and_far_below_is_exact),
    cmocka_unit_test(test_exp_negative_of_any_nan_is_nan),
    cmocka_unit_test(test_exp_for_softmax_has_small_relative_errors_in_its_whole_range),
    cmocka_unit_test(test_exp_for_softmax_of_zero_far_below_and_nan_is_exact),
    cmocka_unit_test(test_exp_weights_sums_any_nan_to_nan),
    cmocka_unit_test(test_exp_weights_are_exponentials_with_their_sum_in_order),
    cmocka_unit_test(test_exp_heads_subtract_the_largest_logit_of_each_head),
    cmocka_unit_test(test_class_logits_and_softmax_loss_match_reference),
    cmocka_unit_test(test_softmax_loss_of_large_logits_does_not_overflow),
    cmocka_unit_test(test_first_class_wins_a_tie),
    cmocka_unit_test(test_class_grad_matches_reference),
};

int main(void) {
    if (!lh_level_is_supported(LH_LEVEL_NAME)) {
        print_message("softmax: skipped, this machine does not run %s\n", LH_LEVEL_NAME);
        return 0;
    }
    return cmocka_run_group_tests_name(
        REAL_BYTES == 8 ? "softmax " LH_LEVEL_NAME " float64" : "softmax " LH_LEVEL_NAME " float32", TESTS, NULL, NULL);
}
