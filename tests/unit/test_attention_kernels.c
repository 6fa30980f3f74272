/* kernels/cpu: the columns, rotations, unit vectors and dropout masks of attention, and a function of scores, compared
 * with kernels/ref and plain loops. */
#include "support/lh_kernels.h"

#include "base/cpu_level.h"
#include "kernels/cpu/columns.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/products.h"
#include "kernels/cpu/rotated.h"
#include "kernels/cpu/rotation.h"
#include "kernels/ref/ref.h"

/* ---- columns.h ---- */

enum { COLUMN_ROWS = 2 * LANES + 3, COLUMN_STRIDE = 70 };

/* Checks columns of every group of rows, and the conversion back to rows; values between the rows do not change. */
INLINE void check_columns(const int D) {
    real *rows = make_random_reals(1, COLUMN_ROWS * COLUMN_STRIDE, COLUMN_ROWS * COLUMN_STRIDE + LANES);
    real *back = make_random_reals(2, COLUMN_ROWS * COLUMN_STRIDE, COLUMN_ROWS * COLUMN_STRIDE),
         *old_back = make_reals(COLUMN_ROWS * COLUMN_STRIDE);
    memcpy(old_back, back, COLUMN_ROWS * COLUMN_STRIDE * sizeof(real));
    for (int first = 0; first < COLUMN_ROWS; first += LANES) {
        vector column[64];
        load_columns(D, COLUMN_ROWS, first, COLUMN_STRIDE, rows, 2, column);
        for (int i = 0; i < LANES && first + i < COLUMN_ROWS; i++)
            for (int d = 0; d < D; d++) assert_true(column[d][i] == 2 * rows[(first + i) * COLUMN_STRIDE + d]);
        store_columns(D, COLUMN_ROWS, first, COLUMN_STRIDE, column, back);
    }
    for (int i = 0; i < COLUMN_ROWS * COLUMN_STRIDE; i++)
        assert_true(back[i] == (i % COLUMN_STRIDE < D ? 2 * rows[i] : old_back[i]));
    free_all(rows, back, old_back);
}

static void test_columns_of_any_head_width_are_exact(void **state) {
    check_columns(4);
    check_columns(8);
    check_columns(12);
    check_columns(16);
    check_columns(20);
    check_columns(64);
}

/* Checks that two rows of D elements are interleaved and separated; no value after them is changed. */
INLINE void check_pair(const int D) {
    real a[LANES], b[LANES], back[2][LANES];
    for (int i = 0; i < LANES; i++) {
        a[i] = (real)(i + 1);
        b[i] = (real)(-i - 1);
        back[0][i] = back[1][i] = 99;
    }
    vector pair = load_pair(D, a, b);
    for (int i = 0; i < 2 * D; i++) assert_true(pair[i] == (i % 2 ? b : a)[i / 2]);
    store_pair(D, pair + pair, back[0], back[1]);
    for (int i = 0; i < LANES; i++) {
        assert_true(back[0][i] == (i < D ? 2 * a[i] : 99));
        assert_true(back[1][i] == (i < D ? 2 * b[i] : 99));
    }
}

static void test_pairs_of_rows_are_exact(void **state) {
    check_pair(1);
    check_pair(LANES / 2);
    if (LANES > 4) check_pair(3);
    const real pairs[3] = {9, 4, 5};
    vector pair = broadcast_pair(pairs + 1);
    for (int i = 0; i < LANES; i++) assert_true(pair[i] == pairs[1 + i % 2]);
}

/* Checks products of small integers, so every order of a sum is exact. */
INLINE void check_products_with_rows(const int D) {
    enum { ROWS = 2 * SIDE_BY_SIDE + 1 };
    real rows[ROWS * COLUMN_STRIDE], weights[ROWS * LANES];
    vector column[64], products[SIDE_BY_SIDE], sum[64];
    for (int i = 0; i < ROWS * COLUMN_STRIDE; i++) rows[i] = (real)(i * 37 % 19 - 9);
    for (int i = 0; i < ROWS * LANES; i++) weights[i] = (real)(i * 23 % 13 - 6);
    for (int d = 0; d < D; d++) column[d] = load(weights) + (real)d;
    dot_rows(D, SIDE_BY_SIDE, column, COLUMN_STRIDE, rows, products);
    for (int u = 0; u < SIDE_BY_SIDE; u++) {
        vector expected = {0}, actual = dot_row(D, column, rows + u * COLUMN_STRIDE);
        for (int d = 0; d < D; d++) expected += column[d] * rows[u * COLUMN_STRIDE + d];
        for (int i = 0; i < LANES; i++) assert_true(products[u][i] == expected[i] && actual[i] == expected[i]);
    }
    for (int count = 0; count <= ROWS; count++) {
        weighted_rows(D, count, weights, COLUMN_STRIDE, rows, sum);
        for (int d = 0; d < D; d++) {
            vector expected = {0};
            for (int j = 0; j < count; j++) expected += load(weights + j * LANES) * rows[j * COLUMN_STRIDE + d];
            for (int i = 0; i < LANES; i++) assert_true(sum[d][i] == expected[i]);
        }
    }
}

/* Checks keys and values that are stored in several calls, and their products with a query's heads. The numbers are
 * small integers, so every order of a sum is exact. D: width of a head; H: number of heads. */
INLINE void check_tiles(const int D, const int H) {
    enum { TOKENS = 3 * LANES + 2, WIDTH = 64, STRIDE = 3 * WIDTH };
    static real rows[TOKENS * STRIDE], tiles[2 * WIDTH * 4 * LANES], logits[4 * LANES * LANES];
    const int first = WIDTH - H * D, piece = LANES + 1;
    for (int i = 0; i < TOKENS * STRIDE; i++) rows[i] = (real)(i * 37 % 19 - 9);
    assert_true(tiled_elements(WIDTH, TOKENS) == sizeof tiles / sizeof *tiles);
    for (int from = 0, to; from < TOKENS; from = to) {
        to = from == 0 ? piece : from == piece ? piece + 2 : from + 2 * LANES < TOKENS ? from + 2 * LANES : TOKENS;
        put_in_tiles(WIDTH, from, to, STRIDE, rows + WIDTH, tiles);
    }
    for (int j = 0; j < TOKENS; j++)
        for (int d = 0; d < WIDTH; d++) {
            const real *tile = tiles + j / LANES * 2 * WIDTH * LANES;
            assert_true(tile[d * LANES + j % LANES] == rows[j * STRIDE + WIDTH + d]);
            assert_true(tile[(LANES + j % LANES) * WIDTH + d] == rows[j * STRIDE + 2 * WIDTH + d]);
        }
    for (int j = 0; j < TOKENS; j += LANES) {
        vector heads[LANES];
        dot_heads(D, H, rows + first, tiles + tiled_elements(WIDTH, j) + first * LANES, heads);
        store_heads(H, TOKENS - j, heads, logits + j * H);
    }
    for (int i = 0; i < TOKENS * H; i++) {
        real expected = 0;
        for (int d = first + i % H * D; d < first + (i % H + 1) * D; d++)
            expected += rows[d] * rows[i / H * STRIDE + WIDTH + d];
        assert_true(logits[i] == expected);
    }
}

static void test_tiles_of_keys_and_values_are_exact(void **state) {
    check_tiles(8, 1);
    check_tiles(32, 2);
    check_tiles(12, 2);
    if (LANES >= 4) check_tiles(16, 4);
    if (LANES >= 8) check_tiles(8, 8);
}

static void test_products_with_rows_of_any_head_width_are_exact(void **state) {
    check_products_with_rows(1);
    check_products_with_rows(4);
    check_products_with_rows(8);
    check_products_with_rows(20);
    check_products_with_rows(64);
}

/* ---- rotated.h ---- */

static double compute_angle(int C, int position, int c) { return position * pow(10, -3.0 * (c % (C / 2)) / C); }

/* Element c, a sine or a cosine, of a row of C elements. */
static double compute_sinusoid(int C, int position, int c) {
    return c < C / 2 ? sin(compute_angle(C, position, c)) : cos(compute_angle(C, position, c));
}

enum { MAX_KEYS = 2 * ROTATED_KEYS + 3, KEY_ROWS = 3 * ROTATED_KEYS, TESTED_HEAD = 1 };

/* For each pair of a query and a key, the distance is the key's position minus the query's position. A distance has a
 * row of sinusoids, and the weight maps this row to a relative vector. Checks the products of queries with relative
 * vectors, and the gradients of the queries. D: width of a head; C: width of a row. */
INLINE void check_rotated(const int D, const int C, int keys) {
    int query_position[LANES], key_position[MAX_KEYS];
    real *weight = make_random_reals(1, C * C, C * C), *weights = make_random_reals(2, 0, C * C + LANES);
    real *queries = make_random_reals(3, D * LANES, D * LANES),
         *factors = make_random_reals(4, keys * LANES, keys * LANES);
    real *rows = make_reals(KEY_ROWS * C), *sinusoids = make_reals(C * LANES), *rotated = make_reals(C * LANES);
    real *products = make_reals(KEY_ROWS * LANES), *back = make_reals(LANES * D + LANES);
    for (int i = 0; i < LANES; i++) query_position[i] = 3 * i + i % 2;
    for (int j = 0; j < keys; j++) key_position[j] = 5 * j + j % 3;
    for (int c = 0; c < C; c++) {
        for (int i = 0; i < LANES; i++) sinusoids[c * LANES + i] = (real)compute_sinusoid(C, query_position[i], c);
        for (int j = 0; j < KEY_ROWS; j++)
            rows[j * C + c] = j < keys ? (real)compute_sinusoid(C, key_position[j], c) : 0;
    }
    vector query[64];
    for (int d = 0; d < D; d++) query[d] = load(queries + d * LANES);
    pack_heads(D, C, weight, weights);
    const real *head_weights = weights + TESTED_HEAD * C * D;
    rotate_queries(D, C, query, head_weights, sinusoids, LANES, rotated);
    dot_rotated(C, keys, rotated, rows, products);
    rotated_grad(C, LANES, keys, factors, rows, rotated);
    for (int i = 0; i < LANES; i++) {
        real row[WIDEST_HEAD];
        for (int c = 0; c < C; c++) row[c] = sinusoids[c * LANES + i];
        rotate_back(C, row, rotated + i * C);
    }
    multiply_by_weight(D, C, LANES, rotated, head_weights, back);
    for (int i = 0; i < LANES; i++) {
        double actual[64], dquery[64] = {0};
        for (int j = 0; j < keys; j++) {
            double product = 0, actual_product = products[j * LANES + i];
            for (int c = 0; c < C; c++)
                for (int d = 0; d < D; d++) {
                    double entry = weight[c * C + TESTED_HEAD * D + d] *
                                   compute_sinusoid(C, key_position[j] - query_position[i], c);
                    product += (double)queries[d * LANES + i] * entry;
                    dquery[d] += (double)factors[j * LANES + i] * entry;
                }
            lh_assert_close(&actual_product, &product, 1, 0, 8 * D * sum_tolerance(C));
        }
        for (int d = 0; d < D; d++) actual[d] = back[i * D + d];
        lh_assert_close(actual, dquery, D, 0, 8 * keys * sum_tolerance(C));
    }
    free_all(weight, weights, queries, factors, rows, sinusoids, rotated, products, back);
}

static void test_products_of_rotated_queries_equal_products_by_distance(void **state) {
    for (int keys = 2 * ROTATED_KEYS; keys <= MAX_KEYS; keys += 3) { /* 16 keys: groups of 8, 8; 19: 7, 7, 5 */
        check_rotated(2, 16, keys);
        check_rotated(4, 16, keys);
        check_rotated(8, 64, keys);
        check_rotated(12, 48, keys);
        check_rotated(20, 80, keys);
    }
}

/* ---- dropout.h ---- */

/* Compares a mask of `count` elements with the reference. */
static void check_dropout_keep(uint64_t seed, uint32_t step, uint32_t example, uint32_t site, int count, double rate) {
    const lh_ref_dropout reference = {.key = lh_key_of_seed(seed), .step = step, .site = site, .rate = rate};
    int8_t *keep = malloc((size_t)count + KEEP_PAD);
    assert_non_null(keep);
    dropout_keep(reference.key, step, example, site, count, (uint16_t)lround(65536 * rate), keep);
    for (int e = 0; e < count; e++)
        assert_int_equal(keep[e], lh_ref_dropout_keeps(&reference, example, (uint32_t)e) ? -1 : 0);
    free(keep);
}

static void test_dropout_keep_of_any_count_and_counter_matches_reference(void **state) {
    for (int count = 1; count <= 200; count += 13) check_dropout_keep(1, 2, 3, lh_site(3, 1, 0), count, 0.1);
    check_dropout_keep(0xffffffffffffffffULL, 0xffffffffu, 0xfffffffeu, 0xffffffffu, 100, 0.5);
    check_dropout_keep(0x0123456789abcdefULL, 0x80000000u, 0x7fffffff, lh_site(3, 6, 1), 5000, 0.9);
    check_dropout_keep(7, 0, 0, lh_site(3, 0, 0), 100, 0);
}

static void test_dropout_keep_at_any_element_matches_reference(void **state) {
    const lh_ref_dropout reference = {.key = lh_key_of_seed(5), .step = 17, .site = lh_site(3, 4, 2), .rate = 0.4};
    const keep_source from = {reference.key, reference.step, 21, reference.site};
    enum { MAX_TOKENS = 150 };
    int8_t buffer[MAX_TOKENS + KEEP_SLACK];
    const size_t far = (size_t)1 << 34; /* its block has the index 2^31 */
    for (int first = 0; first < 20; first++) {
        for (int count = 1; count <= MAX_TOKENS; count += 37) {
            const int8_t *keep = dropout_keep_at(&from, (size_t)first, count, (uint16_t)lround(65536 * 0.4), buffer);
            for (int e = 0; e < count; e++)
                assert_int_equal(keep[e], lh_ref_dropout_keeps(&reference, 21, (uint32_t)(first + e)) ? -1 : 0);
        }
    }
    const int8_t *keep = dropout_keep_at(&from, far + 3, 5, (uint16_t)lround(65536 * 0.4), buffer);
    const uint32_t counter[4] = {1u << 31, reference.site, 21, reference.step};
    uint32_t word[4];
    lh_philox(counter, reference.key, word);
    for (uint32_t e = 3; e < 8; e++)
        assert_int_equal(keep[e - 3], (word[e / 2] >> 16 * (e % 2) & 0xffff) >= lround(65536 * 0.4) ? -1 : 0);
}

static void test_keep_columns_converts_rows_to_lanes(void **state) {
    enum { STRIDE = 11 };
    int8_t keep[LANES * STRIDE + REAL_BYTES];
    for (size_t i = 0; i < sizeof keep; i++) keep[i] = i * 7 % 3 ? -1 : 0;
    bits columns = {0};
    for (int j = 0; j < STRIDE; j++) {
        columns = j % REAL_BYTES ? columns >> 8 : keep_columns(keep + j, STRIDE);
        bits lanes = first_keeps(columns);
        for (int i = 0; i < LANES; i++) assert_int_equal(lanes[i], keep[i * STRIDE + j]);
    }
}

static void test_dropout_apply_scales_kept_and_clears_dropped(void **state) {
    enum { COUNT = 5 * LANES };
    real *row = make_random_reals(1, COUNT, COUNT), *original = make_random_reals(1, COUNT, COUNT);
    int8_t keep[COUNT];
    for (int i = 0; i < COUNT; i++) keep[i] = i % 3 ? -1 : 0;
    dropout_apply(COUNT, keep, (real)1.25, row);
    for (int i = 0; i < COUNT; i++) assert_true(row[i] == (keep[i] ? original[i] * (real)1.25 : 0));
    free_all(row, original);
}

/* ---- rotation.h ---- */

/* Checks rotations by a row of a table: `period` cosines, then `period` signed sines. If a head is narrower than a
 * vector, the cosines and the sines of a head are repeated until they fill a vector. */
static void check_rotation(int heads, int head_width) {
    int width = heads * head_width, period = head_width > LANES ? head_width : LANES;
    const int32_t position = 1234;
    real *x = make_random_reals(1, width, width), *row = make_reals(2 * period);
    double *expected = to_doubles(x, width), *original = to_doubles(x, width), cosine[64], sine[64];
    lh_ref_rotation(1, head_width, &(lh_ref_rope){.base = 10000}, &position, cosine, sine);
    for (int c = 0; c < period; c++) {
        row[c] = (real)cosine[c % head_width / 2];
        row[period + c] = (real)(c % 2 ? sine[c % head_width / 2] : -sine[c % head_width / 2]);
    }
    lh_ref_rotate(1, heads, 0, head_width, cosine, sine, expected);
    rotate_row(width, period, row, 1, x);
    check_close(x, expected, width, sum_tolerance(2));
    rotate_row(width, period, row, -1, x);
    check_close(x, original, width, sum_tolerance(4));
    free_all(x, row, expected, original);
}

static void test_rotate_row_rotates_and_rotates_back(void **state) {
    check_rotation(8, 8);
    check_rotation(16, 4);
    check_rotation(3, 32);
    check_rotation(1, 64);
}

/* ---- products.h ---- */

/* Checks two heads. The norm of the second head's vector is below the least divisor. */
INLINE void check_unit_vectors(const int D) {
    real *v = make_random_reals(1, 2 * D, 2 * D), *dunit = make_random_reals(2, 2 * D, 2 * D),
         *unit = make_reals(2 * D), *dv = make_random_reals(3, 2 * D, 2 * D), *previous_dv = make_reals(2 * D);
    for (int d = D; d < 2 * D; d++) v[d] *= (real)1e-8;
    memcpy(previous_dv, dv, (size_t)(2 * D) * sizeof(real));
    divide_by_norms(2, D, v, unit);
    divide_by_norms_grad(2, D, v, dunit, dv);
    for (int c = 0; c < 2 * D; c++) {
        double square = 0, product = 0;
        for (int d = c / D * D; d < c / D * D + D; d++) {
            square += (double)v[d] * v[d];
            product += (double)v[d] * dunit[d];
        }
        double divisor = c < D ? sqrt(square) : 1e-6;
        lh_assert_close(&(double){unit[c]}, &(double){v[c] / divisor}, 1, sum_tolerance(D), 0);
        double expected = (dunit[c] - (c < D ? product / square : 0) * v[c]) / divisor,
               size = fabs(expected) + fabs(previous_dv[c]);
        lh_assert_close(&(double){dv[c]}, &(double){previous_dv[c] + expected}, 1, 0,
                        sum_tolerance(4 * D) * (1 + size));
    }
    free_all(v, dunit, unit, dv, previous_dv);
}

static void test_unit_vectors_of_any_head_width_match_plain_loops(void **state) {
    check_unit_vectors(4);
    check_unit_vectors(12);
    check_unit_vectors(36);
}

/* ---- log_sigmoid_of of functions.h ---- */

/* Errors of exp and of log1p add up. Far below 0 the result is the argument. */
static void test_log_sigmoid_of_any_argument_is_close(void **state) {
    for (int i = -4000; i <= 4000; i++) {
        real x = (real)(0.02 * i);
        long double expected = fminl(x, 0) - log1pl(expl(-fabsl(x)));
        vector y = log_sigmoid_of(broadcast(x));
        assert_true(fabsl(y[0] - expected) <= (REAL_BYTES == 8 ? 9e-16 : 5e-7) * fabsl(expected));
        assert_true(y[LANES - 1] == log_sigmoid_real(x));
    }
    assert_true(log_sigmoid_real(-1000) == -1000 && log_sigmoid_real(1000) == 0 && isnan(log_sigmoid_real(NAN)));
}

static const struct CMUnitTest TESTS[] = {
    cmocka_unit_test(test_columns_of_any_head_width_are_exact),
    cmocka_unit_test(test_pairs_of_rows_are_exact),
    cmocka_unit_test(test_tiles_of_keys_and_values_are_exact),
    cmocka_unit_test(test_products_with_rows_of_any_head_width_are_exact),
    cmocka_unit_test(test_products_of_rotated_queries_equal_products_by_distance),
    cmocka_unit_test(test_dropout_keep_of_any_count_and_counter_matches_reference),
    cmocka_unit_test(test_dropout_keep_at_any_element_matches_reference),
    cmocka_unit_test(test_keep_columns_converts_rows_to_lanes),
    cmocka_unit_test(test_dropout_apply_scales_kept_and_clears_dropped),
    cmocka_unit_test(test_rotate_row_rotates_and_rotates_back),
    cmocka_unit_test(test_unit_vectors_of_any_head_width_match_plain_loops),
    cmocka_unit_test(test_log_sigmoid_of_any_argument_is_close),
};

int main(void) {
    if (!lh_level_is_supported(LH_LEVEL_NAME)) {
        print_message("attention kernels: skipped, this machine does not run %s\n", LH_LEVEL_NAME);
        return 0;
    }
    return cmocka_run_group_tests_name(REAL_BYTES == 8 ? "attention kernels " LH_LEVEL_NAME " float64"
                                                       : "attention kernels " LH_LEVEL_NAME " float32",
                                       TESTS, NULL, NULL);
}
