/* kernels/cpu: products of matrices, compared with kernels/ref, at odd sizes if a kernel allows them. */
#include "support/lh_kernels.h"

#include "base/cpu_level.h"
#include "kernels/cpu/matmul.h"
#include "kernels/ref/ref.h"

/* Multiplies with widths that need all tile sizes; kernels require a constant N. */
INLINE void multiply_columns(int vectors, int rows, int K, const real *a, const real *w, real *y,
                             const enum finish finish, const real *operand) {
    switch (vectors) {
    case 1: matmul(rows, K, 1 * LANES, a, w, y, finish, operand); break;
    case 3: matmul(rows, K, 3 * LANES, a, w, y, finish, operand); break;
    case 4: matmul(rows, K, 4 * LANES, a, w, y, finish, operand); break;
    case 6: matmul(rows, K, 6 * LANES, a, w, y, finish, operand); break;
    }
}

NOINLINE void multiply_any(int vectors, int rows, int K, const real *a, const real *w, real *y, enum finish finish,
                           const real *operand) {
    switch (finish) {
    case FINISH_STORE: multiply_columns(vectors, rows, K, a, w, y, FINISH_STORE, operand); break;
    case FINISH_BIAS: multiply_columns(vectors, rows, K, a, w, y, FINISH_BIAS, operand); break;
    case FINISH_BIAS_RELU: multiply_columns(vectors, rows, K, a, w, y, FINISH_BIAS_RELU, operand); break;
    case FINISH_ADD: multiply_columns(vectors, rows, K, a, w, y, FINISH_ADD, operand); break;
    case FINISH_RELU_GRAD: multiply_columns(vectors, rows, K, a, w, y, FINISH_RELU_GRAD, operand); break;
    }
}

/* Sizes that the compiler knows, like the sizes in generated code. */
enum { FIXED_K = 24, FIXED_N = 6 * LANES };
NOINLINE void multiply_fixed(int rows, const real *a, const real *w, real *y, const real *bias) {
    matmul(rows, FIXED_K, FIXED_N, a, w, y, FINISH_BIAS_RELU, bias);
}
NOINLINE void multiply_fixed_in_place(int rows, const real *a, const real *w, real *y) {
    matmul(rows, FIXED_K, FIXED_N, a, w, y, FINISH_ADD, y);
}

/* Sizes of a wide model. A panel has one whole slice and a part of another. A gradient has two parts, and columns that
 * remain. */
enum { WIDE_N = 192, GRADIENT_K = GRADIENT_DEPTH + 16, GRADIENT_N = 176 };
enum { WIDE_K = SLICE_BYTES / REAL_BYTES / (TILE_COLUMNS * LANES) + 40 };
NOINLINE void multiply_wide(int rows, const real *a, const real *w, real *y, enum finish finish, const real *operand) {
    switch (finish) {
    case FINISH_STORE: matmul(rows, WIDE_K, WIDE_N, a, w, y, FINISH_STORE, operand); break;
    case FINISH_BIAS: matmul(rows, WIDE_K, WIDE_N, a, w, y, FINISH_BIAS, operand); break;
    case FINISH_BIAS_RELU: matmul(rows, WIDE_K, WIDE_N, a, w, y, FINISH_BIAS_RELU, operand); break;
    case FINISH_ADD: matmul(rows, WIDE_K, WIDE_N, a, w, y, FINISH_ADD, operand); break;
    case FINISH_RELU_GRAD: matmul(rows, WIDE_K, WIDE_N, a, w, y, FINISH_RELU_GRAD, operand); break;
    }
}

/* Applies `finish` to the matrix product y [rows][N]; operand: its bias [N], or its second operand [rows][N]. */
static void finish_reference(int rows, int N, enum finish finish, const real *operand, double *y) {
    for (int m = 0; m < rows; m++) {
        for (int n = 0; n < N; n++) {
            double *e = &y[m * N + n];
            if (finish == FINISH_BIAS || finish == FINISH_BIAS_RELU) *e += operand[n];
            if (finish == FINISH_BIAS_RELU && *e < 0) *e = 0;
            if (finish == FINISH_ADD) *e += operand[m * N + n];
            if (finish == FINISH_RELU_GRAD && operand[m * N + n] <= 0) *e = 0;
        }
    }
}

/* Makes panels of w [K][N] by pack_weights; where K allows it, checks that pack_transposed makes the same panels. */
static real *pack_panels(int K, int N, const real *w) {
    real *panels = make_reals(K * N), *transposed = make_reals(K * N), *repacked = make_reals(K * N);
    pack_weights(K, N, w, panels);
    if (K % 8 == 0) {
        for (int k = 0; k < K; k++)
            for (int n = 0; n < N; n++) transposed[n * K + k] = w[k * N + n];
        pack_transposed(N, K, transposed, repacked);
        assert_memory_equal(panels, repacked, (size_t)K * (size_t)N * sizeof(real));
    }
    free_all(transposed, repacked);
    return panels;
}

/* Checks a product of matrices with one way of finishing it. is_fixed: uses the function with constant sizes, which
 * adds a bias and applies ReLU. */
static void check_matmul(int rows, int K, int N, enum finish finish, int is_fixed) {
    int padded_rows = round_up(rows, TILE_ROWS);
    real *a = make_random_reals(1, rows * K, padded_rows * K), *w = make_random_reals(2, K * N, K * N),
         *y = make_reals(padded_rows * N);
    real *operand = make_random_reals(3, rows * N, padded_rows * N), *panels = pack_panels(K, N, w);
    if (is_fixed) multiply_fixed(rows, a, panels, y, operand);
    else if (is_wide(K, N)) multiply_wide(rows, a, panels, y, finish, operand);
    else multiply_any(N / LANES, rows, K, a, panels, y, finish, operand);
    double *a_doubles = to_doubles(a, rows * K), *w_doubles = to_doubles(w, K * N), *expected = to_doubles(y, rows * N);
    lh_ref_matmul(rows, K, N, a_doubles, w_doubles, NULL, expected);
    finish_reference(rows, N, finish, operand, expected);
    check_close(y, expected, rows * N, sum_tolerance(K));
    free_all(a, w, y, operand, panels, a_doubles, w_doubles, expected);
}

static void test_matmul_of_odd_sizes_with_every_finish_matches_reference(void **state) {
    static const int rows[] = {1, 5, 6, 7, 13}, inner[] = {1, 5, 16}, vectors[] = {1, 3, 4, 6};
    for (enum finish finish = FINISH_STORE; finish <= FINISH_RELU_GRAD; finish++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (size_t k = 0; k < sizeof inner / sizeof *inner; k++)
                for (size_t n = 0; n < sizeof vectors / sizeof *vectors; n++)
                    check_matmul(rows[r], inner[k], vectors[n] * LANES, finish, 0);
}

static void test_wide_matmul_with_every_finish_matches_reference(void **state) {
    static const int rows[] = {1, 2 * TILE_ROWS + 1};
    for (enum finish finish = FINISH_STORE; finish <= FINISH_RELU_GRAD; finish++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) check_matmul(rows[r], WIDE_K, WIDE_N, finish, 0);
}

static void test_matmul_of_constant_sizes_matches_reference(void **state) {
    for (int rows = 1; rows <= 2 * TILE_ROWS + 1; rows++) check_matmul(rows, FIXED_K, FIXED_N, FINISH_BIAS_RELU, 1);
}

/* Adds a product to y [rows][N] in place. The result must match the reference, and have the bits of the sum in another
 * buffer. */
static void check_matmul_in_place(int rows, int K, int N, int is_fixed) {
    int padded_rows = round_up(rows, TILE_ROWS);
    real *a = make_random_reals(1, rows * K, padded_rows * K), *w = make_random_reals(2, K * N, K * N),
         *sum = make_reals(padded_rows * N);
    real *operand = make_random_reals(3, rows * N, padded_rows * N),
         *y = make_random_reals(3, rows * N, padded_rows * N);
    real *panels = pack_panels(K, N, w);
    multiply_any(N / LANES, rows, K, a, panels, sum, FINISH_ADD, operand);
    if (is_fixed) multiply_fixed_in_place(rows, a, panels, y);
    else multiply_any(N / LANES, rows, K, a, panels, y, FINISH_ADD, y);
    assert_memory_equal(y, sum, (size_t)rows * (size_t)N * sizeof *y);
    double *a_doubles = to_doubles(a, rows * K), *w_doubles = to_doubles(w, K * N), *expected = to_doubles(y, rows * N);
    lh_ref_matmul(rows, K, N, a_doubles, w_doubles, NULL, expected);
    finish_reference(rows, N, FINISH_ADD, operand, expected);
    check_close(y, expected, rows * N, sum_tolerance(K));
    free_all(a, w, y, sum, operand, panels, a_doubles, w_doubles, expected);
}

static void test_matmul_in_place_adds_to_existing_values(void **state) {
    static const int inner[] = {1, 5, 16}, vectors[] = {1, 3, 4, 6};
    for (int rows = 1; rows <= 2 * TILE_ROWS + 1; rows++) {
        check_matmul_in_place(rows, FIXED_K, FIXED_N, 1);
        for (size_t k = 0; k < sizeof inner / sizeof *inner; k++)
            for (size_t n = 0; n < sizeof vectors / sizeof *vectors; n++)
                check_matmul_in_place(rows, inner[k], vectors[n] * LANES, 0);
    }
}

INLINE void compute_weight_grad(int rows, int K, const int N, const real *a, const real *dy, real *dw, real *db) {
    matmul_weight_grad(rows, K, N, a, dy, dw);
    bias_grad(rows, N, dy, db);
}

NOINLINE void compute_any_weight_grad(int vectors, int rows, int K, const real *a, const real *dy, real *dw, real *db) {
    switch (vectors) {
    case GRADIENT_N / LANES: compute_weight_grad(rows, GRADIENT_K, GRADIENT_N, a, dy, dw, db); break;
    case 1: compute_weight_grad(rows, K, 1 * LANES, a, dy, dw, db); break;
    case 2: compute_weight_grad(rows, K, 2 * LANES, a, dy, dw, db); break;
    case 3: compute_weight_grad(rows, K, 3 * LANES, a, dy, dw, db); break;
    }
}

/* Checks a gradient: rows after the last are NaN, and the result is added to existing values. */
static void check_weight_grad(int rows, int K, int N) {
    real *a = make_random_reals(1, rows * K, (rows + TILE_ROWS) * K),
         *dy = make_random_reals(2, rows * N, (rows + TILE_ROWS) * N);
    real *dw = make_random_reals(3, K * N, K * N), *db = make_random_reals(4, N, N);
    double *a_doubles = to_doubles(a, rows * K), *dy_doubles = to_doubles(dy, rows * N);
    double *dw_expected = to_doubles(dw, K * N), *db_expected = to_doubles(db, N);
    compute_any_weight_grad(N / LANES, rows, K, a, dy, dw, db);
    lh_ref_matmul_weight_grad(rows, K, N, a_doubles, dy_doubles, dw_expected, db_expected);
    check_close(dw, dw_expected, K * N, sum_tolerance(rows));
    check_close(db, db_expected, N, sum_tolerance(rows));
    free_all(a, dy, dw, db, a_doubles, dy_doubles, dw_expected, db_expected);
}

static void test_weight_grad_of_any_rows_matches_reference(void **state) {
    for (int rows = 1; rows <= 13; rows += 3)
        for (int k = 1; k <= 3; k++)
            for (int n = 1; n <= 3; n++) check_weight_grad(rows, k * 8, n * LANES);
}

static void test_wide_weight_grad_matches_reference(void **state) {
    static const int rows[] = {1, OUTER_ROWS * OUTER_COLUMNS + 1, GRADIENT_ROWS, GRADIENT_ROWS + 3};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) check_weight_grad(rows[r], GRADIENT_K, GRADIENT_N);
}

/* The gradient is divided into parts. Up to GRADIENT_ROWS rows, each element is one sum in the order of rows, with the
 * bits of a simple loop. */
static void test_wide_weight_grad_has_the_bits_of_one_sum(void **state) {
    const int rows = 37, K = GRADIENT_K, N = GRADIENT_N;
    real *a = make_random_reals(1, rows * K, rows * K), *dy = make_random_reals(2, rows * N, rows * N);
    real *dw = make_random_reals(3, K * N, K * N), *expected = make_random_reals(3, K * N, K * N);
    for (int k = 0; k < K; k += OUTER_ROWS)
        for (int n = 0; n < N; n += LANES) gradient_tile(rows, 1, K, a + k, N, dy + n, N, expected + k * N + n);
    real *db = make_random_reals(4, N, N);
    compute_any_weight_grad(N / LANES, rows, K, a, dy, dw, db);
    assert_memory_equal(dw, expected, (size_t)K * (size_t)N * sizeof *dw);
    free_all(a, dy, dw, db, expected);
}

static void test_transpose_of_odd_rows_swaps_indices(void **state) {
    enum { K = 5, N = 24 };
    real *in = make_random_reals(1, K * N, K * N), *out = make_reals(K * N);
    transpose(K, N, in, out);
    for (int k = 0; k < K; k++)
        for (int n = 0; n < N; n++) assert_true(out[n * K + k] == in[k * N + n]);
    free_all(in, out);
}

static const struct CMUnitTest TESTS[] = {
    cmocka_unit_test(test_matmul_of_odd_sizes_with_every_finish_matches_reference),
    cmocka_unit_test(test_matmul_of_constant_sizes_matches_reference),
    cmocka_unit_test(test_wide_matmul_with_every_finish_matches_reference),
    cmocka_unit_test(test_matmul_in_place_adds_to_existing_values),
    cmocka_unit_test(test_weight_grad_of_any_rows_matches_reference),
    cmocka_unit_test(test_wide_weight_grad_matches_reference),
    cmocka_unit_test(test_wide_weight_grad_has_the_bits_of_one_sum),
    cmocka_unit_test(test_transpose_of_odd_rows_swaps_indices),
};

int main(void) {
    if (!lh_level_is_supported(LH_LEVEL_NAME)) {
        print_message("matmul: skipped, this machine does not run %s\n", LH_LEVEL_NAME);
        return 0;
    }
    return cmocka_run_group_tests_name(
        REAL_BYTES == 8 ? "matmul " LH_LEVEL_NAME " float64" : "matmul " LH_LEVEL_NAME " float32", TESTS, NULL, NULL);
}
