/* kernels/cpu compared with kernels/ref, at odd sizes if a kernel allows them; test_rows.c: norms and activations. */
#include "support/lh_kernels.h"

#include "base/cpu_level.h"
#include "kernels/cpu/adamw.h"
#include "kernels/cpu/columns.h"
#include "kernels/cpu/crossentropy.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/rotation.h"
#include "kernels/cpu/sgd.h"
#include "kernels/cpu/rotated.h"
#include "kernels/ref/ref.h"

/* ---- vector.h ---- */

static void test_sum_lanes_counting_lanes_gives_triangle_number(void **state) {
    (void)state;
    vector x;
    for (int i = 0; i < LANES; i++) x[i] = (real)(i + 1);
    assert_true(sum_lanes(x) == LANES * (LANES + 1) / 2);
}

static void test_maximum_either_order_gives_larger(void **state) {
    (void)state;
    vector a = broadcast(-3), b = broadcast(2);
    assert_true(maximum(a, b)[0] == 2 && maximum(b, a)[LANES - 1] == 2);
}

static void test_round_up_gives_next_multiple(void **state) {
    (void)state;
    assert_int_equal(round_up(0, 6), 0);
    assert_int_equal(round_up(1, 6), 6);
    assert_int_equal(round_up(6, 6), 6);
    assert_int_equal(round_up(7, 6), 12);
}

/* ---- math.h ---- */

static void test_exp_negative_whole_range_relative_error_small(void **state) {
    (void)state;
    const double lowest = REAL_BYTES == 8 ? -707 : -86.9, allowed = REAL_BYTES == 8 ? 4e-16 : 2e-7;
    for (int i = 0; i < 200000; i++) {
        real x = (real)(lowest * i / 200000 * (i % 2 ? 1 : 1e-3)); /* small arguments too */
        double got = exp_negative(broadcast(x))[i % LANES], want = exp(x);
        if (!(fabs(got - want) <= allowed * want)) lh_assert_close(&got, &want, 1, allowed, 0);
    }
}

static void test_exp_negative_zero_and_far_below(void **state) {
    (void)state;
    assert_true(exp_negative(broadcast(0))[0] == 1);
    assert_true(exp_negative(broadcast((real)-INFINITY))[0] == 0);
    assert_true(exp_negative(broadcast(REAL_BYTES == 8 ? (real)-708.1 : (real)-87.1))[0] == 0);
    assert_true(isnan(exp_negative(broadcast((real)NAN))[0]));
}

static void test_exp_negative_nan_of_any_bits_stays_nan(void **state) {
    (void)state;
    for (real_bits below = 1; below <= 512; below *= 2) {
        bits payload = (bits)broadcast(-(real)NAN) | (below - 1) | below;
        assert_true(isnan(exp_negative((vector)payload)[0]) && isnan(exp_negative((vector)(payload << 1 >> 1))[0]));
    }
    assert_true(isnan(exp_negative((vector)((bits){0} - 1))[LANES - 1])); /* a NaN with all bits set */
}

static vector exp_of_weight(vector x) {
    exp_for_softmax(1, &x);
    return x;
}

static void test_exp_for_softmax_whole_range_relative_error_small(void **state) {
    (void)state;
    const double lowest = REAL_BYTES == 8 ? -707 : -86.9, ulp = REAL_BYTES == 8 ? 0x1p-52 : 0x1p-23;
    for (int i = 0; i < 200000; i++) {
        real x = (real)(lowest * i / 200000 * (i % 2 ? 1 : 1e-3)); /* small arguments too */
        double got = exp_of_weight(broadcast(x))[i % LANES], want = exp(x), allowed = (2.2 - 0.65 * x) * ulp;
        if (!(fabs(got - want) <= allowed * want)) lh_assert_close(&got, &want, 1, allowed, 0);
    }
}

static void test_exp_for_softmax_zero_far_below_and_nan(void **state) {
    (void)state;
    assert_true(exp_of_weight(broadcast(0))[0] == 1);
    assert_true(exp_of_weight(broadcast((real)-INFINITY))[0] == 0);
    assert_true(exp_of_weight(broadcast(REAL_BYTES == 8 ? (real)-708.1 : (real)-87.1))[0] == 0);
    assert_true(exp_of_weight(broadcast(-(real)0x1p127))[0] == 0);
    assert_true(isnan(exp_of_weight(broadcast((real)INFINITY) - broadcast((real)INFINITY))[0]));
}

static void test_exp_weights_nan_of_any_bits_is_a_nan_in_the_sum(void **state) {
    (void)state;
    for (real_bits below = 1; below <= 512; below *= 2) {
        vector nan = (vector)((bits)broadcast((real)NAN) | below);
        real weights[5 * LANES];
        for (int j = 0; j < 5; j++) store(weights + j * LANES, nan);
        assert_true(isnan(exp_weights(5, nan, weights)[0]));
    }
}

/* Each exponential has the same bits in a group of SIDE_BY_SIDE and alone. */
static void test_exp_weights_each_exponential_and_their_sum_in_order(void **state) {
    (void)state;
    enum { MOST = 2 * SIDE_BY_SIDE + 3 };
    for (int count = 0; count <= MOST; count++) {
        real weights[(MOST + 1) * LANES];
        for (int i = 0; i < (MOST + 1) * LANES; i++) weights[i] = (real)(-0.37 * (i * 29 % 101));
        vector sum = {0}, want[MOST + 1], largest = broadcast((real)1.5);
        for (int j = 0; j <= MOST; j++) want[j] = load(weights + j * LANES);
        for (int j = 0; j < count; j++) sum += want[j] = exp_of_weight(want[j] - largest);
        vector got = exp_weights(count, largest, weights);
        assert_memory_equal(&got, &sum, sizeof sum);
        assert_memory_equal(weights, want, sizeof want);
    }
}

/* Every head's weights have the bits of a single head. */
INLINE void check_exp_heads(const int H) {
    enum { MOST = 2 * SIDE_BY_SIDE * LANES + 3 };
    static real weights[(MOST + 1) * LANES], was[(MOST + 1) * LANES];
    for (int count = 1; count <= MOST; count += 1 + count / 3) {
        for (int i = 0; i < count * H; i++) weights[i] = was[i] = (real)(-0.37 * (i * 29 % 101));
        exp_heads(H, count, weights);
        for (int h = 0; h < H; h++) {
            real largest = was[h];
            for (int j = 1; j < count; j++) largest = was[j * H + h] > largest ? was[j * H + h] : largest;
            for (int j = 0; j < count; j++)
                assert_true(weights[j * H + h] == exp_of_weight(broadcast(was[j * H + h] - largest))[0]);
        }
    }
}

static void test_exp_heads_each_by_the_largest_of_its_head(void **state) {
    (void)state;
    check_exp_heads(1);
    check_exp_heads(2);
    if (LANES >= 4) check_exp_heads(4);
    if (LANES >= 8) check_exp_heads(8);
}

/* ---- matmul.h ---- */

/* Multiplies with widths that need all tile sizes; kernels require a constant N. */
INLINE void matmul_columns(int vectors, int rows, int K, const real *a, const real *w, real *y,
                           const enum finish finish, const real *other) {
    switch (vectors) {
    case 1: matmul(rows, K, 1 * LANES, a, w, y, finish, other); break;
    case 3: matmul(rows, K, 3 * LANES, a, w, y, finish, other); break;
    case 4: matmul(rows, K, 4 * LANES, a, w, y, finish, other); break;
    case 6: matmul(rows, K, 6 * LANES, a, w, y, finish, other); break;
    }
}

NOINLINE void any_matmul(int vectors, int rows, int K, const real *a, const real *w, real *y, enum finish finish,
                         const real *other) {
    switch (finish) {
    case FINISH_STORE: matmul_columns(vectors, rows, K, a, w, y, FINISH_STORE, other); break;
    case FINISH_BIAS: matmul_columns(vectors, rows, K, a, w, y, FINISH_BIAS, other); break;
    case FINISH_BIAS_RELU: matmul_columns(vectors, rows, K, a, w, y, FINISH_BIAS_RELU, other); break;
    case FINISH_ADD: matmul_columns(vectors, rows, K, a, w, y, FINISH_ADD, other); break;
    case FINISH_RELU_GRAD: matmul_columns(vectors, rows, K, a, w, y, FINISH_RELU_GRAD, other); break;
    }
}

/* Sizes that the compiler knows, as in generated code. */
enum { FIXED_K = 24, FIXED_N = 6 * LANES };
NOINLINE void fixed_matmul(int rows, const real *a, const real *w, real *y, const real *bias) {
    matmul(rows, FIXED_K, FIXED_N, a, w, y, FINISH_BIAS_RELU, bias);
}
NOINLINE void fixed_matmul_in_place(int rows, const real *a, const real *w, real *y) {
    matmul(rows, FIXED_K, FIXED_N, a, w, y, FINISH_ADD, y);
}

/* Sizes of a wide model: a panel has one whole slice and a part; a gradient has two parts, and remaining columns. */
enum { WIDE_N = 192, GRADIENT_K = GRADIENT_DEPTH + 16, GRADIENT_N = 176 };
enum { WIDE_K = SLICE_BYTES / REAL_BYTES / (TILE_COLUMNS * LANES) + 40 };
NOINLINE void matmul_of_wide(int rows, const real *a, const real *w, real *y, enum finish finish, const real *other) {
    switch (finish) {
    case FINISH_STORE: matmul(rows, WIDE_K, WIDE_N, a, w, y, FINISH_STORE, other); break;
    case FINISH_BIAS: matmul(rows, WIDE_K, WIDE_N, a, w, y, FINISH_BIAS, other); break;
    case FINISH_BIAS_RELU: matmul(rows, WIDE_K, WIDE_N, a, w, y, FINISH_BIAS_RELU, other); break;
    case FINISH_ADD: matmul(rows, WIDE_K, WIDE_N, a, w, y, FINISH_ADD, other); break;
    case FINISH_RELU_GRAD: matmul(rows, WIDE_K, WIDE_N, a, w, y, FINISH_RELU_GRAD, other); break;
    }
}

/* Applies `finish` to the matrix product y[rows][N]. */
static void finish_reference(int rows, int N, enum finish finish, const real *other, double *y) {
    for (int m = 0; m < rows; m++) {
        for (int n = 0; n < N; n++) {
            double *e = &y[m * N + n];
            if (finish == FINISH_BIAS || finish == FINISH_BIAS_RELU) *e += other[n];
            if (finish == FINISH_BIAS_RELU && *e < 0) *e = 0;
            if (finish == FINISH_ADD) *e += other[m * N + n];
            if (finish == FINISH_RELU_GRAD && other[m * N + n] <= 0) *e = 0;
        }
    }
}

/* Makes panels of w [K][N]; if K allows both functions, checks that they agree. */
static real *panels_of(int K, int N, const real *w) {
    real *panels = reals(K * N), *turned = reals(K * N), *again = reals(K * N);
    pack_weights(K, N, w, panels);
    if (K % 8 == 0) {
        for (int k = 0; k < K; k++)
            for (int n = 0; n < N; n++) turned[n * K + k] = w[k * N + n];
        pack_transposed(N, K, turned, again);
        assert_memory_equal(panels, again, (size_t)K * (size_t)N * sizeof(real));
    }
    free_all(turned, again);
    return panels;
}

static void check_matmul(int rows, int K, int N, enum finish finish, int fixed) {
    int padded = round_up(rows, TILE_ROWS);
    real *a = random_reals(1, rows * K, padded * K), *w = random_reals(2, K * N, K * N), *y = reals(padded * N);
    real *other = random_reals(3, rows * N, padded * N), *panels = panels_of(K, N, w);
    if (fixed) fixed_matmul(rows, a, panels, y, other);
    else if (is_wide(K, N)) matmul_of_wide(rows, a, panels, y, finish, other);
    else any_matmul(N / LANES, rows, K, a, panels, y, finish, other);
    double *a_wide = doubles_of(a, rows * K), *w_wide = doubles_of(w, K * N), *want = doubles_of(y, 0);
    want = realloc(want, (size_t)rows * (size_t)N * sizeof *want);
    assert_non_null(want);
    lh_ref_matmul(rows, K, N, a_wide, w_wide, NULL, want);
    finish_reference(rows, N, finish, other, want);
    check_close(y, want, rows * N, sum_tolerance(K));
    free_all(a, w, y, other, panels, a_wide, w_wide, want);
}

static void test_matmul_odd_sizes_every_finish_match_reference(void **state) {
    (void)state;
    static const int rows[] = {1, 5, 6, 7, 13}, inner[] = {1, 5, 16}, vectors[] = {1, 3, 4, 6};
    for (enum finish finish = FINISH_STORE; finish <= FINISH_RELU_GRAD; finish++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (size_t k = 0; k < sizeof inner / sizeof *inner; k++)
                for (size_t n = 0; n < sizeof vectors / sizeof *vectors; n++)
                    check_matmul(rows[r], inner[k], vectors[n] * LANES, finish, 0);
}

static void test_matmul_wide_every_finish_matches_reference(void **state) {
    (void)state;
    static const int rows[] = {1, 2 * TILE_ROWS + 1};
    for (enum finish finish = FINISH_STORE; finish <= FINISH_RELU_GRAD; finish++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) check_matmul(rows[r], WIDE_K, WIDE_N, finish, 0);
}

static void test_matmul_constant_sizes_match_reference(void **state) {
    (void)state;
    for (int rows = 1; rows <= 2 * TILE_ROWS + 1; rows++) check_matmul(rows, FIXED_K, FIXED_N, FINISH_BIAS_RELU, 1);
}

/* Checks a product added to y [rows][N] in place: the reference's numbers, and the bits of a sum in another buffer. */
static void check_matmul_in_place(int rows, int K, int N, int fixed) {
    int padded = round_up(rows, TILE_ROWS);
    real *a = random_reals(1, rows * K, padded * K), *w = random_reals(2, K * N, K * N), *apart = reals(padded * N);
    real *other = random_reals(3, rows * N, padded * N), *y = random_reals(3, rows * N, padded * N);
    real *panels = panels_of(K, N, w);
    any_matmul(N / LANES, rows, K, a, panels, apart, FINISH_ADD, other);
    if (fixed) fixed_matmul_in_place(rows, a, panels, y);
    else any_matmul(N / LANES, rows, K, a, panels, y, FINISH_ADD, y);
    assert_memory_equal(y, apart, (size_t)rows * (size_t)N * sizeof *y);
    double *a_wide = doubles_of(a, rows * K), *w_wide = doubles_of(w, K * N), *want = doubles_of(y, rows * N);
    lh_ref_matmul(rows, K, N, a_wide, w_wide, NULL, want);
    finish_reference(rows, N, FINISH_ADD, other, want);
    check_close(y, want, rows * N, sum_tolerance(K));
    free_all(a, w, y, apart, other, panels, a_wide, w_wide, want);
}

static void test_matmul_in_place_adds_to_what_is_there(void **state) {
    (void)state;
    static const int inner[] = {1, 5, 16}, vectors[] = {1, 3, 4, 6};
    for (int rows = 1; rows <= 2 * TILE_ROWS + 1; rows++) {
        check_matmul_in_place(rows, FIXED_K, FIXED_N, 1);
        for (size_t k = 0; k < sizeof inner / sizeof *inner; k++)
            for (size_t n = 0; n < sizeof vectors / sizeof *vectors; n++)
                check_matmul_in_place(rows, inner[k], vectors[n] * LANES, 0);
    }
}

INLINE void weight_grad(int rows, int K, const int N, const real *a, const real *dy, real *dw, real *db) {
    matmul_weight_grad(rows, K, N, a, dy, dw);
    bias_grad(rows, N, dy, db);
}

NOINLINE void any_weight_grad(int vectors, int rows, int K, const real *a, const real *dy, real *dw, real *db) {
    switch (vectors) {
    case GRADIENT_N / LANES: weight_grad(rows, GRADIENT_K, GRADIENT_N, a, dy, dw, db); break;
    case 1: weight_grad(rows, K, 1 * LANES, a, dy, dw, db); break;
    case 2: weight_grad(rows, K, 2 * LANES, a, dy, dw, db); break;
    case 3: weight_grad(rows, K, 3 * LANES, a, dy, dw, db); break;
    }
}

/* Checks a gradient: rows after the last are NaN, and the result is added to existing values. */
static void check_weight_grad(int rows, int K, int N) {
    real *a = random_reals(1, rows * K, (rows + TILE_ROWS) * K),
         *dy = random_reals(2, rows * N, (rows + TILE_ROWS) * N);
    real *dw = random_reals(3, K * N, K * N), *db = random_reals(4, N, N);
    double *a_wide = doubles_of(a, rows * K), *dy_wide = doubles_of(dy, rows * N);
    double *dw_want = doubles_of(dw, K * N), *db_want = doubles_of(db, N);
    any_weight_grad(N / LANES, rows, K, a, dy, dw, db);
    lh_ref_matmul_weight_grad(rows, K, N, a_wide, dy_wide, dw_want, db_want);
    check_close(dw, dw_want, K * N, sum_tolerance(rows));
    check_close(db, db_want, N, sum_tolerance(rows));
    free_all(a, dy, dw, db, a_wide, dy_wide, dw_want, db_want);
}

static void test_weight_grad_any_rows_match_reference(void **state) {
    (void)state;
    for (int rows = 1; rows <= 13; rows += 3)
        for (int k = 1; k <= 3; k++)
            for (int n = 1; n <= 3; n++) check_weight_grad(rows, k * 8, n * LANES);
}

static void test_weight_grad_wide_matches_reference(void **state) {
    (void)state;
    static const int rows[] = {1, OUTER_ROWS * OUTER_COLUMNS + 1, GRADIENT_ROWS, GRADIENT_ROWS + 3};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) check_weight_grad(rows[r], GRADIENT_K, GRADIENT_N);
}

/* For any division of a gradient, up to GRADIENT_ROWS rows are one sum in order, with the bits of a simple loop. */
static void test_weight_grad_wide_has_the_bits_of_one_sum(void **state) {
    (void)state;
    const int rows = 37, K = GRADIENT_K, N = GRADIENT_N;
    real *a = random_reals(1, rows * K, rows * K), *dy = random_reals(2, rows * N, rows * N);
    real *dw = random_reals(3, K * N, K * N), *want = random_reals(3, K * N, K * N);
    for (int k = 0; k < K; k += OUTER_ROWS)
        for (int n = 0; n < N; n += LANES) gradient_tile(rows, 1, K, a + k, N, dy + n, N, want + k * N + n);
    real *db = random_reals(4, N, N);
    any_weight_grad(N / LANES, rows, K, a, dy, dw, db);
    assert_memory_equal(dw, want, (size_t)K * (size_t)N * sizeof *dw);
    free_all(a, dy, dw, db, want);
}

static void test_transpose_odd_rows_swaps_indices(void **state) {
    (void)state;
    enum { K = 5, N = 24 };
    real *in = random_reals(1, K * N, K * N), *out = reals(K * N);
    transpose(K, N, in, out);
    for (int k = 0; k < K; k++)
        for (int n = 0; n < N; n++) assert_true(out[n * K + k] == in[k * N + n]);
    free_all(in, out);
}

/* ---- columns.h ---- */

enum { COLUMN_ROWS = 2 * LANES + 3, COLUMN_STRIDE = 70 };

/* Checks columns of every group of rows, and the conversion back to rows; values between the rows do not change. */
INLINE void check_columns(const int D) {
    real *rows = random_reals(1, COLUMN_ROWS * COLUMN_STRIDE, COLUMN_ROWS * COLUMN_STRIDE + LANES);
    real *back = random_reals(2, COLUMN_ROWS * COLUMN_STRIDE, COLUMN_ROWS * COLUMN_STRIDE), *was = reals(0);
    was = realloc(was, COLUMN_ROWS * COLUMN_STRIDE * sizeof(real));
    memcpy(was, back, COLUMN_ROWS * COLUMN_STRIDE * sizeof(real));
    for (int first = 0; first < COLUMN_ROWS; first += LANES) {
        vector column[64];
        load_columns(D, COLUMN_ROWS, first, COLUMN_STRIDE, rows, 2, column);
        for (int i = 0; i < LANES && first + i < COLUMN_ROWS; i++)
            for (int d = 0; d < D; d++) assert_true(column[d][i] == 2 * rows[(first + i) * COLUMN_STRIDE + d]);
        store_columns(D, COLUMN_ROWS, first, COLUMN_STRIDE, column, back);
    }
    for (int i = 0; i < COLUMN_ROWS * COLUMN_STRIDE; i++)
        assert_true(back[i] == (i % COLUMN_STRIDE < D ? 2 * rows[i] : was[i]));
    free_all(rows, back, was);
}

static void test_columns_any_head_width_exact(void **state) {
    (void)state;
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

static void test_pairs_of_rows_exact(void **state) {
    (void)state;
    check_pair(1);
    check_pair(LANES / 2);
    if (LANES > 4) check_pair(3);
    const real both[3] = {9, 4, 5};
    vector pair = broadcast_pair(both + 1);
    for (int i = 0; i < LANES; i++) assert_true(pair[i] == both[1 + i % 2]);
}

/* Checks products of small integers, for which every order of a sum is exact. */
INLINE void check_products_with_rows(const int D) {
    enum { ROWS = 2 * SIDE_BY_SIDE + 1 };
    real rows[ROWS * COLUMN_STRIDE], weights[ROWS * LANES];
    vector column[64], products[SIDE_BY_SIDE], sum[64];
    for (int i = 0; i < ROWS * COLUMN_STRIDE; i++) rows[i] = (real)(i * 37 % 19 - 9);
    for (int i = 0; i < ROWS * LANES; i++) weights[i] = (real)(i * 23 % 13 - 6);
    for (int d = 0; d < D; d++) column[d] = load(weights) + (real)d;
    dot_rows(D, SIDE_BY_SIDE, column, COLUMN_STRIDE, rows, products);
    for (int u = 0; u < SIDE_BY_SIDE; u++) {
        vector want = {0}, one = dot_row(D, column, rows + u * COLUMN_STRIDE);
        for (int d = 0; d < D; d++) want += column[d] * rows[u * COLUMN_STRIDE + d];
        for (int i = 0; i < LANES; i++) assert_true(products[u][i] == want[i] && one[i] == want[i]);
    }
    for (int count = 0; count <= ROWS; count++) {
        weighted_rows(D, count, weights, COLUMN_STRIDE, rows, sum);
        for (int d = 0; d < D; d++) {
            vector want = {0};
            for (int j = 0; j < count; j++) want += load(weights + j * LANES) * rows[j * COLUMN_STRIDE + d];
            for (int i = 0; i < LANES; i++) assert_true(sum[d][i] == want[i]);
        }
    }
}

/* Checks keys and values that are stored in several calls, and their products with a query's heads, with small
 * integers, for which every order of a sum is exact. */
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
        real want = 0;
        for (int d = first + i % H * D; d < first + (i % H + 1) * D; d++)
            want += rows[d] * rows[i / H * STRIDE + WIDTH + d];
        assert_true(logits[i] == want);
    }
}

static void test_tiles_of_keys_and_values_exact(void **state) {
    (void)state;
    check_tiles(8, 1);
    check_tiles(32, 2);
    check_tiles(12, 2);
    if (LANES >= 4) check_tiles(16, 4);
    if (LANES >= 8) check_tiles(8, 8);
}

static void test_products_with_rows_any_head_width_exact(void **state) {
    (void)state;
    check_products_with_rows(1);
    check_products_with_rows(4);
    check_products_with_rows(8);
    check_products_with_rows(20);
    check_products_with_rows(64);
}

/* ---- rotated.h ---- */

static double angle(int C, int position, int c) { return position * pow(10, -3.0 * (c % (C / 2)) / C); }

/* Element c, a sine or a cosine, of a row of C elements. */
static double sinusoid(int C, int position, int c) {
    return c < C / 2 ? sin(angle(C, position, c)) : cos(angle(C, position, c));
}

enum { MOST_PLACES = 2 * ROTATED_KEYS + 3, PLACE_ROWS = 3 * ROTATED_KEYS, ANY_HEAD = 1 };

/* Checks products of queries with the rows of differences, and gradients of those sums, pair by pair. */
INLINE void check_turned(const int D, const int C, int places) {
    int of_query[LANES], of_key[MOST_PLACES];
    real *weight = random_reals(1, C * C, C * C), *weights = random_reals(2, 0, C * C + LANES);
    real *queries = random_reals(3, D * LANES, D * LANES), *factors = random_reals(4, places * LANES, places * LANES);
    real *rows = reals(PLACE_ROWS * C), *place = reals(C * LANES), *turned = reals(C * LANES);
    real *products = reals(PLACE_ROWS * LANES), *back = reals(LANES * D + LANES);
    for (int i = 0; i < LANES; i++) of_query[i] = 3 * i + i % 2;
    for (int j = 0; j < places; j++) of_key[j] = 5 * j + j % 3;
    for (int c = 0; c < C; c++) {
        for (int i = 0; i < LANES; i++) place[c * LANES + i] = (real)sinusoid(C, of_query[i], c);
        for (int j = 0; j < PLACE_ROWS; j++) rows[j * C + c] = j < places ? (real)sinusoid(C, of_key[j], c) : 0;
    }
    vector query[64];
    for (int d = 0; d < D; d++) query[d] = load(queries + d * LANES);
    pack_heads(D, C, weight, weights);
    const real *of_head = weights + ANY_HEAD * C * D;
    rotate_queries(D, C, query, of_head, place, LANES, turned);
    dot_rotated(C, places, turned, rows, products);
    rotated_grad(C, LANES, places, factors, rows, turned);
    for (int i = 0; i < LANES; i++) {
        real row[WIDEST_HEAD];
        for (int c = 0; c < C; c++) row[c] = place[c * LANES + i];
        rotate_back(C, row, turned + i * C);
    }
    through_weight(D, C, LANES, turned, of_head, back);
    for (int i = 0; i < LANES; i++) {
        double got[64], dquery[64] = {0};
        for (int j = 0; j < places; j++) {
            double product = 0, had = products[j * LANES + i];
            for (int c = 0; c < C; c++)
                for (int d = 0; d < D; d++) {
                    double entry = weight[c * C + ANY_HEAD * D + d] * sinusoid(C, of_key[j] - of_query[i], c);
                    product += (double)queries[d * LANES + i] * entry;
                    dquery[d] += (double)factors[j * LANES + i] * entry;
                }
            lh_assert_close(&had, &product, 1, 0, 8 * D * sum_tolerance(C));
        }
        for (int d = 0; d < D; d++) got[d] = back[i * D + d];
        lh_assert_close(got, dquery, D, 0, 8 * places * sum_tolerance(C));
    }
    free_all(weight, weights, queries, factors, rows, place, turned, products, back);
}

static void test_turned_queries_have_products_of_differences(void **state) {
    (void)state;
    for (int places = 2 * ROTATED_KEYS; places <= MOST_PLACES; places += 3) { /* eight keys at a time, and seven */
        check_turned(2, 16, places);
        check_turned(4, 16, places);
        check_turned(8, 64, places);
        check_turned(12, 48, places);
        check_turned(20, 80, places);
    }
}

/* ---- dropout.h ---- */

static void check_dropout_keep(uint64_t seed, uint32_t step, uint32_t example, uint32_t site, int count, double rate) {
    const lh_ref_dropout reference = {lh_key_of_seed(seed), step, site, rate};
    int8_t *keep = malloc((size_t)count + KEEP_PAD);
    assert_non_null(keep);
    dropout_keep(reference.key, step, example, site, count, (uint16_t)lround(65536 * rate), keep);
    for (int e = 0; e < count; e++)
        assert_int_equal(keep[e], lh_ref_dropout_keeps(&reference, example, (uint32_t)e) ? -1 : 0);
    free(keep);
}

static void test_dropout_keep_any_count_and_counter_match_reference(void **state) {
    (void)state;
    for (int count = 1; count <= 200; count += 13) check_dropout_keep(1, 2, 3, lh_site(3, 1, 0), count, 0.1);
    check_dropout_keep(0xffffffffffffffffULL, 0xffffffffu, 0xfffffffeu, 0xffffffffu, 100, 0.5);
    check_dropout_keep(0x0123456789abcdefULL, 0x80000000u, 0x7fffffff, lh_site(3, 6, 1), 5000, 0.9);
    check_dropout_keep(7, 0, 0, lh_site(3, 0, 0), 100, 0);
}

static void test_dropout_keep_at_any_element_matches_reference(void **state) {
    (void)state;
    const lh_ref_dropout reference = {lh_key_of_seed(5), 17, lh_site(3, 4, 2), 0.4};
    const keep_source from = {reference.key, reference.step, 21, reference.site};
    enum { MOST = 150 };
    int8_t buffer[MOST + KEEP_ROOM];
    const size_t far = (size_t)1 << 34; /* the number of its block has 31 bits */
    for (int first = 0; first < 20; first++) {
        for (int count = 1; count <= MOST; count += 37) {
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

static void test_keep_columns_turns_rows_into_lanes(void **state) {
    (void)state;
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
    (void)state;
    enum { COUNT = 5 * LANES };
    real *row = random_reals(1, COUNT, COUNT), *kept = random_reals(1, COUNT, COUNT);
    int8_t keep[COUNT];
    for (int i = 0; i < COUNT; i++) keep[i] = i % 3 ? -1 : 0;
    dropout_apply(COUNT, keep, (real)1.25, row);
    for (int i = 0; i < COUNT; i++) assert_true(row[i] == (keep[i] ? kept[i] * (real)1.25 : 0));
    free_all(row, kept);
}

/* ---- crossentropy.h ---- */

/* More classes than one vector holds, not a multiple of a vector. */
enum { CE_C = 8 * LANES, CE_CLASSES = LANES + 3, CE_COLUMNS = (CE_CLASSES + LANES - 1) / LANES * LANES };

/* Random w[CE_C][CE_COLUMNS] and b[CE_COLUMNS], zero beyond the classes. */
static real *padded_columns(uint64_t seed, int rows) {
    real *w = random_reals(seed, rows * CE_COLUMNS, rows * CE_COLUMNS);
    for (int i = 0; i < rows * CE_COLUMNS; i++)
        if (i % CE_COLUMNS >= CE_CLASSES) w[i] = 0;
    return w;
}

/* The columns of w for classes, as dense doubles. */
static double *unpadded(const real *w, int rows) {
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
    (void)state;
    real *x = random_reals(1, CE_C, CE_C), *w = padded_columns(2, CE_C), *b = padded_columns(3, 1);
    double *x_wide = doubles_of(x, CE_C), *w_wide = unpadded(w, CE_C), *b_wide = unpadded(b, 1);
    real logits[CE_COLUMNS];
    double want[CE_CLASSES], gradient[CE_CLASSES];
    class_logits(CE_C, CE_COLUMNS, x, w, b, logits);
    lh_ref_matmul(1, CE_C, CE_CLASSES, x_wide, w_wide, b_wide, want);
    check_close(logits, want, CE_CLASSES, sum_tolerance(CE_C));
    uint16_t label = CE_CLASSES - 1;
    double loss = softmax_loss(CE_CLASSES, CE_COLUMNS, logits, label);
    double want_loss = lh_ref_cross_entropy(1, CE_CLASSES, want, &label, 1, gradient);
    lh_assert_close(&loss, &want_loss, 1, sum_tolerance(CE_C + CE_CLASSES), 0);
    gradient[label] += 1; /* without the subtraction of the label this is the softmax */
    check_close(logits, gradient, CE_CLASSES, sum_tolerance(2 * CE_C));
    check_padding_zero(logits, 1);
    free_all(x, w, b, x_wide, w_wide, b_wide);
}

static void test_softmax_loss_large_logits_do_not_overflow(void **state) {
    (void)state;
    real logits[CE_COLUMNS] = {0};
    logits[0] = 10000;
    double loss = softmax_loss(CE_CLASSES, CE_COLUMNS, logits, 1), want = 10000;
    lh_assert_close(&loss, &want, 1, 1e-6, 0);
    assert_true(logits[0] == 1);
}

static void test_class_of_tie_first_wins(void **state) {
    (void)state;
    const real logits[] = {-1, 3, 2, 3};
    assert_int_equal(class_of(4, logits), 1);
    assert_int_equal(class_of(1, logits), 0);
}

static void test_class_grad_matches_reference(void **state) {
    (void)state;
    real *x = random_reals(1, CE_C, CE_C), *w = padded_columns(2, CE_C), *g = padded_columns(3, 1);
    real *dw = padded_columns(4, CE_C), *db = padded_columns(5, 1), *dx = reals(CE_C);
    real *w_rows = reals(CE_CLASSES * CE_C);
    for (int i = 0; i < CE_CLASSES * CE_C; i++) w_rows[i] = w[i % CE_C * CE_COLUMNS + i / CE_C];
    double *x_wide = doubles_of(x, CE_C), *w_wide = unpadded(w, CE_C), *g_wide = unpadded(g, 1);
    double *dw_want = unpadded(dw, CE_C), *db_want = unpadded(db, 1), dx_want[CE_C];
    class_grad(CE_C, CE_CLASSES, CE_COLUMNS, x, g, w_rows, dw, db, dx);
    lh_ref_matmul_weight_grad(1, CE_C, CE_CLASSES, x_wide, g_wide, dw_want, db_want);
    lh_ref_matmul_input_grad(1, CE_C, CE_CLASSES, g_wide, w_wide, dx_want);
    for (int c = 0; c < CE_C; c++)
        check_close(dw + c * CE_COLUMNS, dw_want + c * CE_CLASSES, CE_CLASSES, sum_tolerance(1));
    check_close(db, db_want, CE_CLASSES, sum_tolerance(1));
    check_close(dx, dx_want, CE_C, sum_tolerance(CE_CLASSES));
    check_padding_zero(dw, CE_C);
    check_padding_zero(db, 1);
    free_all(x, w, g, dw, db, dx, w_rows, x_wide, w_wide, g_wide, dw_want, db_want);
}

/* ---- rotation.h ---- */

/* Checks a table row: cosines, then signed sines, which repeat for each head of `head_width` up to `period`. */
static void check_rotation(int heads, int head_width) {
    int width = heads * head_width, period = head_width > LANES ? head_width : LANES;
    const int32_t position = 1234;
    real *x = random_reals(1, width, width), *row = reals(2 * period);
    double *want = doubles_of(x, width), *kept = doubles_of(x, width), cosine[64], sine[64];
    lh_ref_rotation(1, head_width, &(lh_ref_rope){.base = 10000}, &position, cosine, sine);
    for (int c = 0; c < period; c++) {
        row[c] = (real)cosine[c % head_width / 2];
        row[period + c] = (real)(c % 2 ? sine[c % head_width / 2] : -sine[c % head_width / 2]);
    }
    lh_ref_rotate(1, heads, head_width, cosine, sine, want);
    rotate_row(width, period, row, 1, x);
    check_close(x, want, width, sum_tolerance(2));
    rotate_row(width, period, row, -1, x);
    check_close(x, kept, width, sum_tolerance(4));
    free_all(x, row, want, kept);
}

static void test_rotate_row_turns_and_turns_back(void **state) {
    (void)state;
    check_rotation(8, 8);
    check_rotation(16, 4);
    check_rotation(3, 32);
    check_rotation(1, 64);
}

/* ---- adam.h ---- */

enum { COUNT = 8 * LANES, FIRST = 2 * LANES, PART = 4 * LANES };

static void test_fold_gradient_adds_and_clears(void **state) {
    (void)state;
    real *total = random_reals(1, COUNT, COUNT), *kept = random_reals(1, COUNT, COUNT);
    real *part = random_reals(2, COUNT, COUNT), *added = random_reals(2, COUNT, COUNT);
    fold_gradient(total, part, COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_true(total[i] == kept[i] + added[i]);
        assert_true(part[i] == 0);
    }
    free_all(total, kept, part, added);
}

static void test_sum_of_squares_matches_plain_sum(void **state) {
    (void)state;
    real *x = random_reals(1, COUNT, COUNT);
    double want = 0;
    for (int i = 0; i < COUNT; i++) want += (double)x[i] * x[i];
    double got = sum_of_squares(x, COUNT);
    lh_assert_close(&got, &want, 1, sum_tolerance(COUNT), 0);
    free(x);
}

static void test_adam_update_part_of_vector_matches_reference(void **state) {
    (void)state;
    const lh_ref_adam reference = {1e-3, 0.9, 0.999, 1e-8, 0};
    real *p = random_reals(1, COUNT, COUNT), *g = random_reals(2, COUNT, COUNT);
    real *m = random_reals(3, COUNT, COUNT), *v = random_reals(4, COUNT, COUNT),
         *before = random_reals(1, COUNT, COUNT);
    for (int i = 0; i < COUNT; i++) v[i] = v[i] * v[i] + (real)0.01;
    double *p_want = doubles_of(p, COUNT), *g_wide = doubles_of(g, COUNT), *m_want = doubles_of(m, COUNT);
    double *v_want = doubles_of(v, COUNT), squares[2] = {0, 0};
    const lh_update u = {p, {m, v}, g, 0, reference.learning_rate, 5};
    lh_update_sums sums = {0, 0};
    adam_update(&u, (adam){0.9, 0.999, 1e-8}, 0.5, FIRST, PART, &sums);
    for (int i = 0; i < COUNT; i++) g_wide[i] *= 0.5;
    lh_ref_adam_update(&reference, 5, 0, PART, g_wide + FIRST, p_want + FIRST, m_want + FIRST, v_want + FIRST);
    check_close(p, p_want, COUNT, sum_tolerance(0));
    check_close(m, m_want, COUNT, sum_tolerance(0));
    check_close(v, v_want, COUNT, sum_tolerance(0));
    for (int i = 0; i < COUNT; i++) assert_true((g[i] == 0) == (i >= FIRST && i < FIRST + PART));
    for (int i = FIRST; i < FIRST + PART; i++) {
        squares[0] += p_want[i] * p_want[i];
        squares[1] += (p_want[i] - before[i]) * (p_want[i] - before[i]);
    }
    lh_assert_close(&sums.parameters, &squares[0], 1, sum_tolerance(PART), 0);
    lh_assert_close(&sums.update, &squares[1], 1, sum_tolerance(PART) + 1e-12, 0); /* cancellation */
    free_all(p, g, m, v, before, p_want, g_wide, m_want, v_want);
}

/* m and v are (1 - b) times the gradient after the first step, and the corrections divide by (1 - b). */
static void test_adam_first_step_is_the_rate_of_every_gradient(void **state) {
    (void)state;
    real *p = random_reals(1, COUNT, COUNT), *g = random_reals(2, COUNT, COUNT);
    real *m = random_reals(3, COUNT, COUNT), *v = random_reals(4, COUNT, COUNT);
    double want[COUNT];
    for (int i = 0; i < COUNT; i++) {
        p[i] = m[i] = v[i] = 0;
        want[i] = -1e-3 * g[i] / (fabs((double)g[i]) + 1e-8);
    }
    lh_update_sums sums = {0, 0};
    adam_update(&(lh_update){p, {m, v}, g, 0, 1e-3, 1}, (adam){0.9, 0.999, 1e-8}, 1, 0, COUNT, &sums);
    double *got = doubles_of(p, COUNT);
    lh_assert_close(got, want, COUNT, REAL_BYTES == 8 ? 1e-13 : 5e-7, 0);
    free_all(p, g, m, v, got);
}

/* ---- adamw.h, sgd.h ---- */

enum { MANY = 50 };

typedef enum rule { ADAMW, SGD, MOMENTUM } rule;

/* A vector with its state, in real and in double. */
typedef struct updated {
    real *p, *g, *state[2];
    double *p_wide, *state_wide[2];
} updated;

static updated new_updated(void) {
    updated u = {.p = random_reals(1, COUNT, COUNT), .g = random_reals(2, COUNT, COUNT)};
    u.p_wide = doubles_of(u.p, COUNT);
    for (int i = 0; i < 2; i++) {
        u.state[i] = random_reals(3, COUNT, COUNT);
        for (int e = 0; e < COUNT; e++) u.state[i][e] = 0;
        u.state_wide[i] = doubles_of(u.state[i], COUNT);
    }
    return u;
}

/* Elements of the part without decay: a single one, and some across the border of a vector. */
static const element_range SPARED[] = {{FIRST + 1, FIRST + 1}, {FIRST + LANES - 1, FIRST + LANES}, {COUNT - 1, COUNT}};

static bool is_spared(int e) {
    return e == FIRST + 1 || e == FIRST + LANES - 1 || e == FIRST + LANES || e >= COUNT - 1;
}

/* Updates elements FIRST .. FIRST + PART - 1 by the kernel, and the same by its twin. */
static void update_both(rule how, int step, const updated *u, lh_update_sums *sums) {
    const lh_ref_adam twin = {.learning_rate = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
    const lh_ref_sgd sgd = {.learning_rate = 1e-2};
    const lh_update update = {u->p, {u->state[0], u->state[1]}, u->g, 0, 1e-2, step};
    double *g = doubles_of(u->g, COUNT);
    real shares[PART];
    for (int e = FIRST; e < FIRST + PART; e++) {
        double clipped = 0.5 * g[e], *p = u->p_wide + e, *first = u->state_wide[0] + e;
        if (how == SGD) lh_ref_sgd_update(&sgd, 0, 1, &clipped, p);
        else if (how == MOMENTUM) lh_ref_momentum_update(&sgd, 0.9, 0, 1, &clipped, p, first);
        else lh_ref_adamw_update(&twin, is_spared(e) ? 0 : 0.1, step, 0, 1, &clipped, p, first, u->state_wide[1] + e);
    }
    spread_decay(1e-2 * 0.1, SPARED, 3, FIRST, PART, shares);
    if (how == SGD) sgd_update(&update, 0.5, FIRST, PART, sums);
    else if (how == MOMENTUM) momentum_update(&update, 0.9, 0.5, FIRST, PART, sums);
    else adamw_update(&update, (adam){0.9, 0.999, 1e-8}, shares, 0.5, FIRST, PART, sums);
    free(g);
}

/* Checks one step and many: parameters near 1 are rounded once in each step, and so are sums and moments. */
static void check_updates(rule how, int states) {
    updated u = new_updated();
    for (int step = 1; step <= MANY; step++) {
        lh_update_sums sums = {0, 0};
        double *before = doubles_of(u.p, COUNT), squares[2] = {0, 0};
        real *next = random_reals(10 + (uint64_t)step, COUNT, COUNT);
        for (int i = 0; i < COUNT; i++) u.g[i] = next[i] * (step % 5 ? 1 : 20);
        update_both(how, step, &u, &sums);
        for (int i = 0; i < COUNT; i++) assert_true((u.g[i] == 0) == (i >= FIRST && i < FIRST + PART));
        check_close(u.p, u.p_wide, COUNT, 4 * step * sum_tolerance(0));
        for (int i = 0; i < states; i++) check_close(u.state[i], u.state_wide[i], COUNT, 4 * step * sum_tolerance(0));
        for (int i = FIRST; i < FIRST + PART; i++) {
            squares[0] += (double)u.p[i] * u.p[i];
            squares[1] += (u.p[i] - before[i]) * (u.p[i] - before[i]);
        }
        lh_assert_close(&sums.parameters, &squares[0], 1, sum_tolerance(PART), 0);
        lh_assert_close(&sums.update, &squares[1], 1, 1e3 * sum_tolerance(PART), 1e-12); /* the difference cancels */
        free_all(before, next);
    }
    free_all(u.p, u.g, u.state[0], u.state[1], u.p_wide, u.state_wide[0], u.state_wide[1]);
}

static void test_adamw_updates_match_reference(void **state) {
    (void)state;
    check_updates(ADAMW, 2);
}

static void test_sgd_updates_match_reference(void **state) {
    (void)state;
    check_updates(SGD, 0);
    check_updates(MOMENTUM, 1);
}

static const struct CMUnitTest TESTS[] = {
    cmocka_unit_test(test_sum_lanes_counting_lanes_gives_triangle_number),
    cmocka_unit_test(test_maximum_either_order_gives_larger),
    cmocka_unit_test(test_round_up_gives_next_multiple),
    cmocka_unit_test(test_exp_negative_whole_range_relative_error_small),
    cmocka_unit_test(test_exp_negative_zero_and_far_below),
    cmocka_unit_test(test_exp_negative_nan_of_any_bits_stays_nan),
    cmocka_unit_test(test_exp_for_softmax_whole_range_relative_error_small),
    cmocka_unit_test(test_exp_for_softmax_zero_far_below_and_nan),
    cmocka_unit_test(test_exp_weights_nan_of_any_bits_is_a_nan_in_the_sum),
    cmocka_unit_test(test_exp_weights_each_exponential_and_their_sum_in_order),
    cmocka_unit_test(test_exp_heads_each_by_the_largest_of_its_head),
    cmocka_unit_test(test_matmul_odd_sizes_every_finish_match_reference),
    cmocka_unit_test(test_matmul_constant_sizes_match_reference),
    cmocka_unit_test(test_matmul_wide_every_finish_matches_reference),
    cmocka_unit_test(test_matmul_in_place_adds_to_what_is_there),
    cmocka_unit_test(test_weight_grad_any_rows_match_reference),
    cmocka_unit_test(test_weight_grad_wide_matches_reference),
    cmocka_unit_test(test_weight_grad_wide_has_the_bits_of_one_sum),
    cmocka_unit_test(test_transpose_odd_rows_swaps_indices),
    cmocka_unit_test(test_columns_any_head_width_exact),
    cmocka_unit_test(test_pairs_of_rows_exact),
    cmocka_unit_test(test_tiles_of_keys_and_values_exact),
    cmocka_unit_test(test_products_with_rows_any_head_width_exact),
    cmocka_unit_test(test_turned_queries_have_products_of_differences),
    cmocka_unit_test(test_dropout_keep_any_count_and_counter_match_reference),
    cmocka_unit_test(test_dropout_keep_at_any_element_matches_reference),
    cmocka_unit_test(test_keep_columns_turns_rows_into_lanes),
    cmocka_unit_test(test_dropout_apply_scales_kept_and_clears_dropped),
    cmocka_unit_test(test_class_logits_and_softmax_loss_match_reference),
    cmocka_unit_test(test_softmax_loss_large_logits_do_not_overflow),
    cmocka_unit_test(test_class_of_tie_first_wins),
    cmocka_unit_test(test_class_grad_matches_reference),
    cmocka_unit_test(test_rotate_row_turns_and_turns_back),
    cmocka_unit_test(test_fold_gradient_adds_and_clears),
    cmocka_unit_test(test_sum_of_squares_matches_plain_sum),
    cmocka_unit_test(test_adam_update_part_of_vector_matches_reference),
    cmocka_unit_test(test_adam_first_step_is_the_rate_of_every_gradient),
    cmocka_unit_test(test_adamw_updates_match_reference),
    cmocka_unit_test(test_sgd_updates_match_reference),
};

int main(void) {
    if (!lh_level_runs(LH_LEVEL_NAME)) {
        print_message("kernels: skipped, this machine does not run %s\n", LH_LEVEL_NAME);
        return 0;
    }
    return cmocka_run_group_tests_name(
        REAL_BYTES == 8 ? "kernels " LH_LEVEL_NAME " float64" : "kernels " LH_LEVEL_NAME " float32", TESTS, NULL, NULL);
}
