/* The matrix products of kernels/cuda in the emulation, compared with kernels/ref in double; products on tensor cores
 * are compared with the product of rounded operands. */
#include "operation_arrays.h"

/* Returns x [K][M], for dimension LH_COLUMNS its transpose, in the product's memory layout: rows are `stride` apart,
 * with NaN between them; for free(). */
static void *make_operand(const precision *p, int K, int M, const double *x, int dimension, int *stride) {
    int rows = dimension == LH_ROWS ? K : M, columns = dimension == LH_ROWS ? M : K;
    *stride = columns + 4;
    void *out = reserve((size_t)(rows * *stride * p->real_bytes));
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            set_real(p, out, i * *stride + j, dimension == LH_ROWS ? x[i * M + j] : x[j * M + i]);
    return out;
}

/* The reference product: a [K][rows], b [K][columns], out [rows][columns]; returns the size to which errors are
 * relative. */
static double compute_expected(const precision *p, const lh_product *c, const double *a, const double *b, double *out) {
    double *x = reserve_doubles(c->rows * c->K), *w = reserve_doubles(c->K * c->columns), max_value = 1;
    for (int sign = 0; sign < 2; sign++) {
        for (int i = 0; i < c->rows * c->K; i++) {
            double value = p->operand(a[i % c->K * c->rows + i / c->K]);
            x[i] = sign ? value : fabs(value);
        }
        for (int i = 0; i < c->K * c->columns; i++) w[i] = sign ? p->operand(b[i]) : fabs(p->operand(b[i]));
        lh_ref_matmul(c->rows, c->K, c->columns, x, w, NULL, out);
        for (int i = 0; !sign && i < c->rows * c->columns; i++) max_value = fmax(max_value, out[i]);
    }
    FREE(x, w);
    return max_value;
}

/* extra: a bias [columns], or rows like the result. */
static double compute_finish(const lh_product *c, double x, int row, int column, const double *extra) {
    double summand = c->finish == LH_ADD || c->finish == LH_RELU_GRAD ? extra[row * c->stride + column] : extra[column];
    if (c->finish == LH_BIAS || c->finish == LH_ADD) return x + summand;
    if (c->finish == LH_BIAS_RELU) return fmax(0, x + summand);
    return c->finish == LH_RELU_GRAD && summand <= 0 ? 0 : x;
}

static int place_in_result(const lh_product *c, int row, int column) {
    if (c->finish == LH_BY_HEAD) return (column / HEAD * c->stride + row) * HEAD + column % HEAD;
    return row * c->stride + column;
}

/* bare: the product adds nothing, whatever its finish. */
static void check_product(const precision *p, lh_product c, bool bare) {
    c.stride = c.finish == LH_BY_HEAD ? c.rows + 3 : c.columns + 4;
    int count = (c.finish == LH_BY_HEAD ? c.columns : c.rows) * c.stride;
    double *a = make_numbers(c.K * c.rows, 1), *b = make_numbers(c.K * c.columns, 2), *extra = make_numbers(count, 3);
    double *product = reserve_doubles(c.rows * c.columns), *expected = reserve_doubles(count);
    void *in_a = make_operand(p, c.K, c.rows, a, c.along_a, &c.stride_a);
    void *in_b = make_operand(p, c.K, c.columns, b, c.along_b, &c.stride_b), *in_extra = to_reals(p, count, extra);
    void *out = c.finish == LH_ADD ? in_extra : to_reals(p, count, extra); /* ADD is used in place */
    double max_value = compute_expected(p, &c, a, b, product);
    memcpy(expected, extra, (size_t)count * sizeof *expected); /* elements that are not written keep their values */
    for (int i = 0; i < c.rows * c.columns; i++) {
        int row = i / c.columns, column = i % c.columns;
        expected[place_in_result(&c, row, column)] =
            bare ? product[i] : compute_finish(&c, product[i], row, column, extra);
    }
    void *null_pointer = NULL;
    launch(p, "product", 1, (void *[]){&c, &in_a, &in_b, bare ? &null_pointer : &in_extra, &out});
    assert_close(p, out, expected, count, (c.K + 2) * p->unit * max_value);
    FREE(a, b, extra, product, expected, in_a, in_b, in_extra);
    if (out != in_extra) free(out);
}

/* Sizes around a tile, its warps and a slab, every order of both operands with every finish. Lengths along a row in
 * memory are multiples of four. */
static void check_products(const precision *p) {
    static const int rows[] = {1, 15, 32, 41, 65, 80, 129}, depths[] = {20, 32, 36, 100},
                     columns[] = {4, 36, 64, 72, 132};
    for (int i = 0; i < 7 * 4 * 4; i++) {
        lh_product c = {.rows = rows[i % 7],
                        .columns = columns[(i + i / 7) % 5],
                        .K = depths[i / 7 % 4],
                        .along_a = i / 28 % 2,
                        .along_b = i / 56,
                        .finish = (i + i / 28) % LH_FINISHES};
        if (c.along_a == LH_ROWS) c.rows = (c.rows + 3) / 4 * 4;
        if (c.along_a == LH_ROWS && c.along_b == LH_ROWS) c.K += 1;
        if (c.finish == LH_BY_HEAD) c.columns = (c.columns + HEAD - 1) / HEAD * HEAD;
        check_product(p, c, false);
        if (c.finish == LH_BIAS || c.finish == LH_ADD) check_product(p, c, true);
    }
}

static void test_products_of_every_order_size_and_finish(void **state) {
    for (int i = 0; i < PRECISION_COUNT; i++) check_products(&PRECISIONS[i]);
}

static void test_product_over_nothing_is_zero(void **state) {
    for (int i = 0; i < PRECISION_COUNT; i++)
        check_product(&PRECISIONS[i], (lh_product){.rows = 8, .columns = 4, .K = 0}, false);
}

/* The bits of a row do not depend on the number of rows: short products are compared with rows of a long one. */
static void check_rows(const precision *p, int along_b) {
    enum { MAX_ROWS = 384, COLUMNS = 68, DEPTH = 36 };
    static const int rows[] = {1, 15, 32, 41, 65, 80, 129};
    lh_product c = {
        .rows = MAX_ROWS, .columns = COLUMNS, .K = DEPTH, .along_a = LH_COLUMNS, .along_b = along_b, .stride = COLUMNS};
    double *a = make_numbers(DEPTH * MAX_ROWS, 1), *b = make_numbers(DEPTH * COLUMNS, 2);
    void *in_a = make_operand(p, DEPTH, MAX_ROWS, a, LH_COLUMNS, &c.stride_a),
         *in_b = make_operand(p, DEPTH, COLUMNS, b, along_b, &c.stride_b);
    void *extra = NULL, *full = reserve((size_t)(MAX_ROWS * COLUMNS * p->real_bytes)),
         *partial = reserve((size_t)(MAX_ROWS * COLUMNS * p->real_bytes));
    launch(p, "product", 1, (void *[]){&c, &in_a, &in_b, &extra, &full});
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        c.rows = rows[i];
        launch(p, "product", 1, (void *[]){&c, &in_a, &in_b, &extra, &partial});
        assert_memory_equal(partial, full, (size_t)(c.rows * COLUMNS * p->real_bytes));
    }
    FREE(a, b, in_a, in_b, full, partial);
}

static void test_rows_of_a_product_do_not_depend_on_their_number(void **state) {
    for (int i = 0; i < 2 * PRECISION_COUNT; i++) check_rows(&PRECISIONS[i / 2], i % 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_every_order_size_and_finish),
        cmocka_unit_test(test_product_over_nothing_is_zero),
        cmocka_unit_test(test_rows_of_a_product_do_not_depend_on_their_number),
    };
    return cmocka_run_group_tests_name("products", tests, NULL, NULL);
}
