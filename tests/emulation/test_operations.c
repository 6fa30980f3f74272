/* The hand-written operations of kernels/cuda in the emulation, one by one, against kernels/ref in double; products on
 * tensor cores against the product of rounded operands. */
#include "lh_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "emulation.h"
#include "kernels/ref/ref.h"
#include "longhand/cuda_interface.h"
#include "operations.h"

enum { WIDTH = LH_OPERATIONS_WIDTH, HEAD = LH_OPERATIONS_HEAD, THREADS = 256, PIECE = LH_CUDA_PIECE };

static double whole(double x) { return x; }

/* To `bits` bits of fraction; ties away from zero, or to even. */
static double to_bits(double x, int bits, double (*nearest)(double)) {
    int exponent;
    double fraction = frexp(x, &exponent);
    return ldexp(nearest(ldexp(fraction, bits + 1)), exponent - bits - 1);
}
static double to_tf32(double x) { return to_bits(x, 10, round); }
static double to_bf16(double x) { return to_bits(x, 7, rint); }

typedef struct precision {
    const char *name;
    int real_bytes;
    double unit;               /* of rounding: sums of n terms are n of them from the truth at most */
    double (*operand)(double); /* of a product */
} precision;

static const precision PRECISIONS[] = {
    {"float64", 8, 0x1p-53, whole},
    {"float32", 4, 0x1p-24, whole},
    {"tf32", 4, 0x1p-24, to_tf32},
    {"bf16", 4, 0x1p-24, to_bf16},
};
enum {
    PRECISION_COUNT = sizeof PRECISIONS / sizeof *PRECISIONS,
    EXACT_PRECISIONS = 2 /* whose products do not round */
};

/* ---- arrays ---- */

static void *reserve(size_t bytes) {
    size_t rounded = (bytes + 127) / 64 * 64;
    void *memory = aligned_alloc(64, rounded);
    assert_non_null(memory);
    return memset(memory, 0xff, rounded); /* NaN */
}

static double *doubles(int count) { return reserve((size_t)count * sizeof(double)); }

static void set_real(const precision *p, void *array, int i, double value) {
    if (p->real_bytes == 8) ((double *)array)[i] = value;
    else ((float *)array)[i] = (float)value;
}

static void *reals_of(const precision *p, int count, const double *x) {
    void *out = reserve((size_t)(count * p->real_bytes));
    for (int i = 0; i < count; i++) set_real(p, out, i, x[i]);
    return out;
}

/* Numbers from -1 to 1 that are floats. */
static double *numbers(int count, uint64_t seed) {
    lh_rng rng = lh_rng_at(lh_key_of_seed(seed), 0, 0, 0);
    double *out = doubles(count);
    for (int i = 0; i < count; i++) out[i] = (float)(lh_rng_word(&rng) / 2147483648.0 - 1);
    return out;
}

static void assert_close(const precision *p, const void *got, const double *want, int count, double tolerance) {
    double *copy = doubles(count);
    for (int i = 0; i < count; i++) copy[i] = lh_real_at(got, p->real_bytes, i);
    lh_assert_close(copy, want, count, 0, tolerance);
    free(copy);
}

static void free_all(void *const *arrays, int count) {
    for (int i = 0; i < count; i++) free(arrays[i]);
}
#define FREE(...) free_all((void *const[]){__VA_ARGS__}, (int)(sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *)))

/* Arguments as for cuLaunchKernel; every launch takes the next order of threads. */
static void launch(const precision *p, const char *operation, int blocks, void **arguments) {
    static unsigned order;
    char kernel[32];
    lh_error error = {""};
    lh_emulation emulation = {.order = order++ % 4, .multiprocessors = blocks};
    snprintf(kernel, sizeof kernel, "%s_%s", operation, p->name);
    lh_emulation_set(&emulation);
    lh_assert_ok(
        lh_emulation_launch(kernel, blocks, THREADS, (size_t)(LH_OPERATIONS_ROOM * p->real_bytes), arguments, &error),
        &error);
}

/* ---- products ---- */

/* x [K][M], or its transpose along columns, in memory as the product reads it: rows `stride` apart, NaN between. */
static void *operand(const precision *p, int K, int M, const double *x, int along, int *stride) {
    int rows = along == LH_ROWS ? K : M, columns = along == LH_ROWS ? M : K;
    *stride = columns + 4;
    void *out = reserve((size_t)(rows * *stride * p->real_bytes));
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            set_real(p, out, i * *stride + j, along == LH_ROWS ? x[i * M + j] : x[j * M + i]);
    return out;
}

/* What a product means: a [K][rows], b [K][columns], out [rows][columns]; returns what errors are relative to. */
static double expected(const precision *p, const lh_product *c, const double *a, const double *b, double *out) {
    double *x = doubles(c->rows * c->K), *w = doubles(c->K * c->columns), most = 1;
    for (int sign = 0; sign < 2; sign++) {
        for (int i = 0; i < c->rows * c->K; i++) {
            double value = p->operand(a[i % c->K * c->rows + i / c->K]);
            x[i] = sign ? value : fabs(value);
        }
        for (int i = 0; i < c->K * c->columns; i++) w[i] = sign ? p->operand(b[i]) : fabs(p->operand(b[i]));
        lh_ref_matmul(c->rows, c->K, c->columns, x, w, NULL, out);
        for (int i = 0; !sign && i < c->rows * c->columns; i++) most = fmax(most, out[i]);
    }
    FREE(x, w);
    return most;
}

/* extra: [columns], or in rows as the result */
static double finished(const lh_product *c, double x, int row, int column, const double *extra) {
    double at = c->how == LH_ADD || c->how == LH_RELU_GRAD ? extra[row * c->stride + column] : extra[column];
    if (c->how == LH_BIAS || c->how == LH_ADD) return x + at;
    if (c->how == LH_BIAS_RELU) return fmax(0, x + at);
    return c->how == LH_RELU_GRAD && at <= 0 ? 0 : x;
}

static int place_in_result(const lh_product *c, int row, int column) {
    if (c->how == LH_BY_HEAD) return (column / HEAD * c->stride + row) * HEAD + column % HEAD;
    return row * c->stride + column;
}

/* bare: there is nothing to add. */
static void check_product(const precision *p, lh_product c, bool bare) {
    c.stride = c.how == LH_BY_HEAD ? c.rows + 3 : c.columns + 4;
    int room = (c.how == LH_BY_HEAD ? c.columns : c.rows) * c.stride;
    double *a = numbers(c.K * c.rows, 1), *b = numbers(c.K * c.columns, 2), *extra = numbers(room, 3);
    double *product = doubles(c.rows * c.columns), *want = doubles(room);
    void *in_a = operand(p, c.K, c.rows, a, c.along_a, &c.stride_a);
    void *in_b = operand(p, c.K, c.columns, b, c.along_b, &c.stride_b), *in_extra = reals_of(p, room, extra);
    void *out = c.how == LH_ADD ? in_extra : reals_of(p, room, extra); /* ADD is used in place */
    double most = expected(p, &c, a, b, product);
    memcpy(want, extra, (size_t)room * sizeof *want); /* what the product does not write stays */
    for (int i = 0; i < c.rows * c.columns; i++) {
        int row = i / c.columns, column = i % c.columns;
        want[place_in_result(&c, row, column)] = bare ? product[i] : finished(&c, product[i], row, column, extra);
    }
    void *nothing = NULL;
    launch(p, "product", 1, (void *[]){&c, &in_a, &in_b, bare ? &nothing : &in_extra, &out});
    assert_close(p, out, want, room, (c.K + 2) * p->unit * most);
    FREE(a, b, extra, product, want, in_a, in_b, in_extra);
    if (out != in_extra) free(out);
}

/* Sizes around a tile, its warps and a slab, every order of both operands with every finish. What runs along a row in
 * memory is a multiple of four long. */
static void check_products(const precision *p) {
    static const int rows[] = {1, 15, 17, 21, 32, 41, 64, 65, 80, 97, 129}, depths[] = {20, 32, 36, 100},
                     columns[] = {4, 36, 64, 72, 132};
    for (int i = 0; i < 11 * 4 * 4; i++) {
        lh_product c = {.rows = rows[i % 11],
                        .columns = columns[(i + i / 11) % 5],
                        .K = depths[i / 11 % 4],
                        .along_a = i / 44 % 2,
                        .along_b = i / 88,
                        .how = (i + i / 44) % LH_FINISHES};
        if (c.along_a == LH_ROWS) c.rows = (c.rows + 3) / 4 * 4;
        if (c.along_a == LH_ROWS && c.along_b == LH_ROWS) c.K += 1;
        if (c.how == LH_BY_HEAD) c.columns = (c.columns + HEAD - 1) / HEAD * HEAD;
        check_product(p, c, false);
        if (c.how == LH_BIAS || c.how == LH_ADD) check_product(p, c, true);
    }
}

static void test_products_of_every_order_size_and_finish(void **state) {
    (void)state;
    for (int i = 0; i < PRECISION_COUNT; i++) check_products(&PRECISIONS[i]);
}

static void test_product_over_nothing_is_zero(void **state) {
    (void)state;
    for (int i = 0; i < PRECISION_COUNT; i++)
        check_product(&PRECISIONS[i], (lh_product){.rows = 8, .columns = 4, .K = 0}, false);
}

/* The bits of a row do not hang on how many there are: short products against the rows of a long one. */
static void check_rows(const precision *p, int along_b) {
    enum { MOST = 672, COLUMNS = 68, DEPTH = 36 };
    static const int rows[] = {1, 15, 16, 21, 32, 33, 41, 63, 64, 65, 80, 96, 97, 127, 129};
    lh_product c = {
        .rows = MOST, .columns = COLUMNS, .K = DEPTH, .along_a = LH_COLUMNS, .along_b = along_b, .stride = COLUMNS};
    double *a = numbers(DEPTH * MOST, 1), *b = numbers(DEPTH * COLUMNS, 2);
    void *in_a = operand(p, DEPTH, MOST, a, LH_COLUMNS, &c.stride_a),
         *in_b = operand(p, DEPTH, COLUMNS, b, along_b, &c.stride_b);
    void *extra = NULL, *all = reserve((size_t)(MOST * COLUMNS * p->real_bytes)),
         *some = reserve((size_t)(MOST * COLUMNS * p->real_bytes));
    launch(p, "product", 1, (void *[]){&c, &in_a, &in_b, &extra, &all});
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        c.rows = rows[i];
        launch(p, "product", 1, (void *[]){&c, &in_a, &in_b, &extra, &some});
        assert_memory_equal(some, all, (size_t)(c.rows * COLUMNS * p->real_bytes));
    }
    FREE(a, b, in_a, in_b, all, some);
}

static void test_rows_of_a_product_do_not_hang_on_their_number(void **state) {
    (void)state;
    for (int i = 0; i < 2 * PRECISION_COUNT; i++) check_rows(&PRECISIONS[i / 2], i % 2);
}

/* ---- sums over rows, layer norm ---- */

static void check_columns(const precision *p, int rows, int columns) {
    double *a = numbers(rows * columns, 4), *want = doubles(columns);
    void *in = reals_of(p, rows * columns, a), *sum = reserve((size_t)(columns * p->real_bytes));
    memset(want, 0, (size_t)columns * sizeof *want);
    for (int i = 0; i < rows * columns; i++) want[i % columns] += a[i];
    launch(p, "columns", 1, (void *[]){&rows, &columns, &in, &sum});
    assert_close(p, sum, want, columns, rows * p->unit * rows);
    FREE(a, want, in, sum);
}

static void test_column_sums_of_every_size(void **state) {
    (void)state;
    static const int rows[] = {0, 1, 7, 65, 130}, columns[] = {4, 40, 100, 256, 300};
    for (int i = 0; i < EXACT_PRECISIONS * 5 * 5; i++)
        check_columns(&PRECISIONS[i % 2], rows[i / 2 % 5], columns[i / 10]);
}

static void check_norm(const precision *p, int rows) {
    int count = rows * WIDTH;
    double *x = numbers(count, 6), *dy = numbers(count, 7), *scale = numbers(WIDTH, 8), *dx = doubles(count);
    double *xhat = doubles(count), *rstd = doubles(rows), ones[WIDTH], zeros[WIDTH] = {0};
    double dscale[WIDTH] = {0}, doffset[WIDTH] = {0};
    for (int c = 0; c < WIDTH; c++) ones[c] = 1;
    lh_ref_layer_norm(rows, WIDTH, x, ones, zeros, xhat);
    for (int row = 0; row < rows; row++) { /* what two channels differ by, normed, over what they differed by */
        const double *at = x + row * WIDTH, *normed = xhat + row * WIDTH;
        rstd[row] = (normed[1] - normed[0]) / (at[1] - at[0]);
    }
    lh_ref_layer_norm_grad(rows, WIDTH, x, scale, dy, dx, dscale, doffset);
    void *in_xhat = reals_of(p, count, xhat), *in_rstd = reals_of(p, rows, rstd), *in_scale = reals_of(p, WIDTH, scale);
    void *gradient = reals_of(p, count, dy), *got_scale = reals_of(p, WIDTH, ones),
         *got_offset = reals_of(p, WIDTH, ones);
    launch(p, "norm", 1, (void *[]){&rows, &in_xhat, &in_rstd, &in_scale, &gradient, &got_scale, &got_offset});
    assert_close(p, gradient, dx, count, 2 * WIDTH * p->unit * 4);              /* gradients of at most some 4 */
    assert_close(p, got_scale, dscale, WIDTH, 2 * rows * p->unit * (rows + 1)); /* so large is xhat, too */
    assert_close(p, got_offset, doffset, WIDTH, rows * p->unit * rows);
    FREE(x, dy, scale, dx, xhat, rstd, in_xhat, in_rstd, in_scale, gradient, got_scale, got_offset);
}

static void test_gradient_of_norm_is_that_of_the_reference(void **state) {
    (void)state;
    static const int rows[] = {1, 7, 8, 65};
    for (int i = 0; i < EXACT_PRECISIONS * 4; i++) check_norm(&PRECISIONS[i % 2], rows[i / 2]);
}

/* ---- dropout ---- */

enum { MASKS = 100, ELEMENTS = 8 * MASKS };

static void check_masks(const precision *p, const lh_ref_dropout *site, uint32_t example) {
    int count = MASKS;
    unsigned char bytes[MASKS], elements[ELEMENTS], *out = bytes, *each = elements;
    lh_masks m = {
        {site->key.word[0], site->key.word[1]}, site->step, example, site->site, (unsigned)lround(65536 * site->rate)};
    launch(p, "keep", 1, (void *[]){&m, &count, &out, &each});
    for (unsigned e = 0; e < ELEMENTS; e++) {
        assert_int_equal(bytes[e / 8] >> e % 8 & 1, lh_ref_dropout_keeps(site, example, e));
        assert_int_equal(elements[e], lh_ref_dropout_keeps(site, example, e));
    }
}

/* Rates of all sizes, then those at which an element is just kept: the eight of a block. */
static void test_masks_are_those_of_the_reference(void **state) {
    (void)state;
    static const double rates[] = {0, 0.1, 0.5, 0.999};
    for (uint32_t i = 0; i < 4 + 8; i++) {
        lh_ref_dropout site = {lh_key_of_seed(0xfeedULL << 32 | i), 5 + i, lh_site(LH_DOMAIN_DROPOUT, i % 3, i % 2), 0};
        uint32_t example = 70000 * i, counter[4] = {13, site.site, example, site.step}, word[4];
        lh_philox(counter, site.key, word);
        site.rate = i < 4 ? rates[i] : (word[(i - 4) / 2] >> (16 * (i % 2)) & 0xffff) / 65536.0;
        check_masks(&PRECISIONS[i % 2], &site, example);
    }
}

/* ---- the optimiser ---- */

/* The order of the sum is part of the interface: the same bits as a left fold. */
static void check_fold(const precision *p, int shards, int count, int blocks) {
    long long stride = (long long)(count + 8) * p->real_bytes;
    char *parts = reserve((size_t)(shards * stride));
    void *want = reserve((size_t)((count + 4) * p->real_bytes)),
         *total = reserve((size_t)((count + 4) * p->real_bytes));
    for (int s = 0; s < shards; s++) {
        double *x = numbers(count, 20 + (uint64_t)s);
        void *part = parts + s * stride;
        for (int i = 0; i < count; i++) set_real(p, part, i, x[i]);
        for (int i = 0; i < count; i++) set_real(p, want, i, s > 0 ? lh_real_at(want, p->real_bytes, i) + x[i] : x[i]);
        free(x);
    }
    launch(p, "fold", blocks, (void *[]){&shards, &parts, &stride, &count, &total});
    assert_memory_equal(total, want, (size_t)((count + 4) * p->real_bytes));
    FREE(parts, want, total);
}

static void test_fold_is_a_left_fold_of_the_same_bits(void **state) {
    (void)state;
    static const int shards[] = {1, 2, 8, 9, 19}, counts[] = {4, 1020, 1024, 5000};
    for (int i = 0; i < EXACT_PRECISIONS * 5 * 4; i++)
        check_fold(&PRECISIONS[i % 2], shards[i / 2 % 5], counts[i / 10], 1 + i % 3);
}

static void test_squares_of_pieces(void **state) {
    (void)state;
    for (int i = 0; i < EXACT_PRECISIONS; i++) {
        enum { PIECES = 5 };
        int pieces = PIECES;
        double *x = numbers(PIECES * PIECE, 9), want[PIECES] = {0}, *squares = doubles(PIECES);
        void *in = reals_of(&PRECISIONS[i], PIECES * PIECE, x);
        for (int e = 0; e < PIECES * PIECE; e++) want[e / PIECE] += x[e] * x[e];
        launch(&PRECISIONS[i], "squares", 1, (void *[]){&pieces, &in, &squares});
        lh_assert_close(squares, want, PIECES, PIECE * 0x1p-53, 0);
        FREE(x, squares, in);
    }
}

static void test_totals_are_the_same_in_all_threads(void **state) {
    (void)state;
    static const int counts[] = {1, 5, 256, 300}, strides[] = {1, 5};
    for (int i = 0; i < 4 * 2; i++) {
        int count = counts[i % 4], stride = strides[i / 4];
        double *x = numbers(count * stride, 9), want = 0, *total = doubles(THREADS);
        for (int e = 0; e < count; e++) want += x[e * stride];
        launch(&PRECISIONS[i % EXACT_PRECISIONS], "total", 1, (void *[]){&count, &stride, &x, &total});
        for (int t = 1; t < THREADS; t++) assert_true(total[t] == total[0]);
        lh_assert_close(total, &want, 1, 0, count * count * 0x1p-53);
        FREE(x, total);
    }
}

/* Three updates of a piece; the first gradient is clipped. */
static void check_adam(const precision *p) {
    const lh_ref_adam adam = {.learning_rate = 3e-4, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .clip_norm = 1};
    double *parameter = numbers(PIECE, 10), *first = doubles(PIECE), *second = doubles(PIECE);
    memset(first, 0, PIECE * sizeof *first);
    memset(second, 0, PIECE * sizeof *second);
    void *in = reals_of(p, PIECE, parameter), *moment1 = reals_of(p, PIECE, first),
         *moment2 = reals_of(p, PIECE, second);
    for (int step = 1; step <= 3; step++) {
        static const double scales[] = {1, 1e-3, 1e-2};
        double *gradient = numbers(PIECE, 10 + (uint64_t)step), *before = doubles(PIECE), squares[2] = {0};
        for (int i = 0; i < PIECE; i++) squares[0] += pow(gradient[i] = (float)(gradient[i] * scales[step - 1]), 2);
        double norm = sqrt(squares[0]), clip = fmin(1, adam.clip_norm / norm), sums[2], *out = sums;
        double rate = adam.learning_rate / (1 - pow(adam.beta1, step)), correct2 = 1 / (1 - pow(adam.beta2, step));
        void *in_gradient = reals_of(p, PIECE, gradient);
        memcpy(before, parameter, PIECE * sizeof *before);
        lh_ref_adam_update(&adam, step, norm, PIECE, gradient, parameter, first, second);
        launch(p, "adam", 1, (void *[]){&clip, &rate, &correct2, &in_gradient, &moment1, &moment2, &in, &out});
        squares[0] = 0;
        for (int i = 0; i < PIECE; i++) {
            squares[0] += parameter[i] * parameter[i];
            squares[1] += pow(parameter[i] - before[i], 2);
        }
        /* a parameter of at most 1 is rounded once per update, a change is some 1e-3; moments below 1 */
        assert_close(p, in, parameter, PIECE, step * 1.1 * p->unit);
        assert_close(p, moment1, first, PIECE, 8 * p->unit);
        assert_close(p, moment2, second, PIECE, 0.02 * p->unit);
        lh_assert_close(sums, squares, 2, 1e3 * p->unit, 0);
        FREE(gradient, before, in_gradient);
    }
    FREE(parameter, first, second, in, moment1, moment2);
}

/* m and v begin as (1 - b) times the gradient, which the corrections take back. */
static void check_first_step(const precision *p) {
    double *gradient = numbers(PIECE, 20), *zeros = doubles(PIECE), *want = doubles(PIECE), *got = doubles(PIECE);
    double clip = 1, rate = 1e-3 / (1 - 0.9), correct2 = 1 / (1 - 0.999), sums[2], *out = sums;
    memset(zeros, 0, PIECE * sizeof *zeros);
    for (int i = 0; i < PIECE; i++) {
        gradient[i] = (float)gradient[i];
        want[i] = -1e-3 * gradient[i] / (fabs(gradient[i]) + 1e-8);
    }
    void *in = reals_of(p, PIECE, zeros), *moment1 = reals_of(p, PIECE, zeros), *moment2 = reals_of(p, PIECE, zeros);
    void *in_gradient = reals_of(p, PIECE, gradient);
    launch(p, "adam", 1, (void *[]){&clip, &rate, &correct2, &in_gradient, &moment1, &moment2, &in, &out});
    for (int i = 0; i < PIECE; i++) got[i] = lh_real_at(in, p->real_bytes, i);
    lh_assert_close(got, want, PIECE, p->real_bytes == 8 ? 1e-13 : 5e-7, 0);
    FREE(gradient, zeros, want, got, in, moment1, moment2, in_gradient);
}

static void test_first_step_is_the_rate_of_every_gradient(void **state) {
    (void)state;
    for (int i = 0; i < EXACT_PRECISIONS; i++) check_first_step(&PRECISIONS[i]);
}

static void test_three_updates_are_those_of_the_reference(void **state) {
    (void)state;
    for (int i = 0; i < EXACT_PRECISIONS; i++) check_adam(&PRECISIONS[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_every_order_size_and_finish),
        cmocka_unit_test(test_product_over_nothing_is_zero),
        cmocka_unit_test(test_rows_of_a_product_do_not_hang_on_their_number),
        cmocka_unit_test(test_column_sums_of_every_size),
        cmocka_unit_test(test_gradient_of_norm_is_that_of_the_reference),
        cmocka_unit_test(test_masks_are_those_of_the_reference),
        cmocka_unit_test(test_fold_is_a_left_fold_of_the_same_bits),
        cmocka_unit_test(test_squares_of_pieces),
        cmocka_unit_test(test_totals_are_the_same_in_all_threads),
        cmocka_unit_test(test_first_step_is_the_rate_of_every_gradient),
        cmocka_unit_test(test_three_updates_are_those_of_the_reference),
    };
    return cmocka_run_group_tests_name("operations", tests, NULL, NULL);
}
