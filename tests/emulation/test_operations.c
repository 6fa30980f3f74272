/* The hand-written operations of kernels/cuda in the emulation, one by one, compared with kernels/ref in double;
 * products on tensor cores are compared with the product of rounded operands. */
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
#include "longhand/math.h"
#include "operations.h"

enum { WIDTH = LH_OPERATIONS_WIDTH, HEAD = LH_OPERATIONS_HEAD, THREADS = 256, PIECE = LH_CUDA_PIECE };

static double whole(double x) { return x; }

/* Rounds to `bits` bits of fraction; ties away from zero, or to even. */
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
    double unit;               /* unit of rounding: a sum of n terms has an error of at most n units */
    double (*operand)(double); /* rounding of a product's operand */
} precision;

static const precision PRECISIONS[] = {
    {"float64", 8, 0x1p-53, whole},      {"float32", 4, 0x1p-24, whole},       {"tf32", 4, 0x1p-24, to_tf32},
    {"bf16", 4, 0x1p-24, to_bf16},       {"float64_warps", 8, 0x1p-53, whole}, {"tf32_warps", 4, 0x1p-24, to_tf32},
    {"bf16_warps", 4, 0x1p-24, to_bf16},
};
/* The first precisions do not round operands of products; the norms of another hold rows in quads. */
enum { PRECISION_COUNT = sizeof PRECISIONS / sizeof *PRECISIONS, EXACT_PRECISIONS = 2, IN_QUADS = 4 };

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

/* Numbers from -1 to 1 that are exact in float. */
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

/* x [K][M], or its transpose along columns, in the product's memory layout: rows `stride` apart, NaN between them. */
static void *operand(const precision *p, int K, int M, const double *x, int along, int *stride) {
    int rows = along == LH_ROWS ? K : M, columns = along == LH_ROWS ? M : K;
    *stride = columns + 4;
    void *out = reserve((size_t)(rows * *stride * p->real_bytes));
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            set_real(p, out, i * *stride + j, along == LH_ROWS ? x[i * M + j] : x[j * M + i]);
    return out;
}

/* The reference product: a [K][rows], b [K][columns], out [rows][columns]; returns the size that errors are relative
 * to. */
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

/* extra: [columns], or rows like the result. */
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

/* bare: nothing is added. */
static void check_product(const precision *p, lh_product c, bool bare) {
    c.stride = c.how == LH_BY_HEAD ? c.rows + 3 : c.columns + 4;
    int room = (c.how == LH_BY_HEAD ? c.columns : c.rows) * c.stride;
    double *a = numbers(c.K * c.rows, 1), *b = numbers(c.K * c.columns, 2), *extra = numbers(room, 3);
    double *product = doubles(c.rows * c.columns), *want = doubles(room);
    void *in_a = operand(p, c.K, c.rows, a, c.along_a, &c.stride_a);
    void *in_b = operand(p, c.K, c.columns, b, c.along_b, &c.stride_b), *in_extra = reals_of(p, room, extra);
    void *out = c.how == LH_ADD ? in_extra : reals_of(p, room, extra); /* ADD is used in place */
    double most = expected(p, &c, a, b, product);
    memcpy(want, extra, (size_t)room * sizeof *want); /* elements that the product does not write keep their values */
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

/* Sizes around a tile, its warps and a slab, every order of both operands with every finish. Lengths along a row in
 * memory are multiples of four. */
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

/* The bits of a row do not depend on the number of rows: short products are compared with rows of a long one. */
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

/* ---- sums over rows ---- */

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

/* ---- norms, with and without a residual connection ---- */

enum { MOST_ROWS = 65, NORM = MOST_ROWS * WIDTH };

/* Inputs, and the results of the twins, in double. */
typedef struct norm_case {
    lh_norm n;
    int count;
    unsigned char keep[NORM / 8];
    double *residual, *branch, *scale, *offset, *dy, *stream; /* stream: an existing gradient */
    double z[NORM], y[NORM], dz[NORM], dbranch[NORM], dscale[WIDTH], doffset[WIDTH];
} norm_case;

static bool kept_at(const norm_case *c, int i) { return !c->n.drops || c->keep[i / 8] >> i % 8 & 1; }
static double dropped_out(const norm_case *c, int i, double x) {
    return !c->n.drops ? x : kept_at(c, i) ? c->n.keep_scale * x : 0;
}

static norm_case *new_norm_case(lh_norm n) {
    norm_case *c = reserve(sizeof *c);
    *c = (norm_case){.n = n, .count = n.rows * WIDTH};
    c->residual = numbers(c->count, 6), c->branch = numbers(c->count, 7), c->scale = numbers(WIDTH, 8);
    c->offset = numbers(WIDTH, 9), c->dy = numbers(c->count, 10), c->stream = numbers(c->count, 11);
    for (int i = 0; i < NORM / 8; i++) c->keep[i] = (unsigned char)(37 * i + 11);
    for (int i = 0; i < c->count; i++)
        c->z[i] = c->residual[i] + (n.form >= LH_SUM ? dropped_out(c, i, c->branch[i]) : 0);
    if (n.rms) {
        lh_ref_rms_norm(n.rows, WIDTH, c->z, c->scale, c->y);
        lh_ref_rms_norm_grad(n.rows, WIDTH, c->z, c->scale, c->dy, c->dz, c->dscale);
    } else {
        lh_ref_layer_norm(n.rows, WIDTH, c->z, c->scale, c->offset, c->y);
        lh_ref_layer_norm_grad(n.rows, WIDTH, c->z, c->scale, c->dy, c->dz, c->dscale, c->doffset);
    }
    for (int i = 0; i < c->count; i++) {
        if (n.form == LH_SUM_ONLY) c->dz[i] = c->dy[i];
        if (n.form == LH_ALONE_ADDED || n.form == LH_SUM_KEPT) c->dz[i] += c->stream[i];
        c->dbranch[i] = dropped_out(c, i, c->dz[i]);
    }
    return c;
}

static void free_norm_case(norm_case *c) { FREE(c->residual, c->branch, c->scale, c->offset, c->dy, c->stream, c); }

/* in_place: sums overwrite the residual, the norm's output the branch, gradients dy. */
static void check_norm(const precision *p, lh_norm n, bool in_place) {
    norm_case *c = new_norm_case(n);
    int count = c->count;
    void *residual = reals_of(p, count, c->residual), *branch = reals_of(p, count, c->branch), *keep = c->keep;
    void *scale = reals_of(p, WIDTH, c->scale), *offset = reals_of(p, WIDTH, c->offset);
    void *dy = reals_of(p, count, c->dy), *stream = reals_of(p, count, c->stream);
    size_t bytes = (size_t)(count * p->real_bytes), channels = (size_t)(WIDTH * p->real_bytes);
    void *new_sum = reserve(bytes), *new_y = reserve(bytes), *new_dbranch = reserve(bytes), *xhat = reserve(bytes);
    void *rstd = reserve((size_t)(n.rows * p->real_bytes)), *dscale = reserve(channels), *doffset = reserve(channels);
    bool adds = n.form == LH_ALONE_ADDED || n.form == LH_SUM_KEPT, normed = n.form != LH_SUM_ONLY;
    void *sum = in_place ? residual : new_sum, *y = in_place ? branch : new_y, *dz = in_place && !adds ? dy : stream;
    void *dbranch = in_place && (adds || !normed) ? dy : new_dbranch;
    lh_norm forward = n;
    if (n.form == LH_ALONE_ADDED) forward.form = LH_ALONE; /* only the backward pass differs */
    launch(p, "norm", 1, (void *[]){&forward, &residual, &branch, &keep, &scale, &offset, &sum, &xhat, &rstd, &y});
    launch(p, "norm_grad", 1, (void *[]){&n, &dy, &xhat, &rstd, &scale, &keep, &dz, &dbranch, &dscale, &doffset});
    double unit = p->unit; /* numbers, also xhat, are at most about 4; RMS norm's sums may be small */
    if (n.form >= LH_SUM_KEPT) assert_close(p, sum, c->z, count, 4 * unit);
    if (normed) {
        assert_close(p, y, c->y, count, 2 * WIDTH * unit * 4);
        assert_close(p, dz, c->dz, count, 2 * WIDTH * unit * 4);
        assert_close(p, dscale, c->dscale, WIDTH, 4 * (WIDTH + n.rows) * unit * (n.rows + 1));
    }
    if (normed && !n.rms) assert_close(p, doffset, c->doffset, WIDTH, n.rows * unit * n.rows);
    if (n.drops || !normed) assert_close(p, dbranch, c->dbranch, count, 2 * WIDTH * unit * 8);
    FREE(residual, branch, scale, offset, dy, stream, new_sum, new_y, new_dbranch, xhat, rstd, dscale, doffset);
    free_norm_case(c);
}

static void test_norms_and_sums_are_those_of_the_reference(void **state) {
    (void)state;
    static const int rows[] = {1, 7, MOST_ROWS};
    for (int i = 0; i < 3 * LH_FORMS * 4; i++) {
        const lh_norm n = {rows[i % 3], i / 3 % LH_FORMS, i / 3 / LH_FORMS % 2, i / 6 / LH_FORMS, 1.25};
        bool alone = n.form < LH_SUM, exists = !(alone && n.drops) && !(n.form == LH_SUM_ONLY && n.rms);
        for (int each = 0; exists && each < EXACT_PRECISIONS; each++) check_norm(&PRECISIONS[each], n, (i + each) % 2);
        if (exists) check_norm(&PRECISIONS[IN_QUADS], n, i % 2);
    }
}

/* In evaluation the function with dropout, without a mask, gives the bits of the function without dropout. */
static void test_norms_without_a_mask_drop_nothing(void **state) {
    (void)state;
    for (int i = 0; i < 2 * 3 * 2; i++) {
        const precision *p = &PRECISIONS[i / 6 ? IN_QUADS : 1];
        lh_norm n = {7, LH_SUM + i % 6 / 2, i % 2, 0, 1.25};
        if (n.form == LH_SUM_ONLY && n.rms) continue;
        norm_case *c = new_norm_case(n);
        void *residual = reals_of(p, c->count, c->residual), *branch = reals_of(p, c->count, c->branch), *keep = NULL;
        void *scale = reals_of(p, WIDTH, c->scale), *offset = reals_of(p, WIDTH, c->offset), *sum[2], *y[2];
        void *xhat = reals_of(p, c->count, c->z), *rstd = reals_of(p, n.rows, c->z);
        for (n.drops = 0; n.drops < 2; n.drops++) {
            sum[n.drops] = reals_of(p, c->count, c->dy), y[n.drops] = reals_of(p, c->count, c->dy);
            launch(
                p, "norm", 1,
                (void *[]){&n, &residual, &branch, &keep, &scale, &offset, &sum[n.drops], &xhat, &rstd, &y[n.drops]});
        }
        assert_memory_equal(sum[0], sum[1], (size_t)(c->count * p->real_bytes));
        assert_memory_equal(y[0], y[1], (size_t)(c->count * p->real_bytes));
        FREE(residual, branch, scale, offset, xhat, rstd, sum[0], sum[1], y[0], y[1]);
        free_norm_case(c);
    }
}

/* ---- activations and gates ---- */

static void check_activation(const precision *p, int f, int rows) {
    bool gate = f >= LH_SWIGLU;
    lh_ref_nonlinearity of = !gate ? (lh_ref_nonlinearity)f : f == LH_SWIGLU ? LH_REF_SILU : LH_REF_GELU;
    int count = rows * WIDTH, inputs = gate ? 2 * count : count;
    double *x = numbers(inputs, 12), *dy = numbers(count, 13), *y = doubles(count), *dx = doubles(inputs);
    for (int i = 0; i < inputs; i++) x[i] *= 8;
    if (gate) {
        lh_ref_gate(of, rows, WIDTH, x, y);
        lh_ref_gate_grad(of, rows, WIDTH, x, dy, dx);
    } else {
        lh_ref_activation(of, count, x, y);
        lh_ref_activation_grad(of, count, x, dy, dx);
    }
    void *in = reals_of(p, inputs, x), *in_dy = reals_of(p, count, dy), *out = reals_of(p, count, dy);
    void *gradient = reals_of(p, inputs, x), *at = gate ? in : in_dy;
    launch(p, "activation", 1, (void *[]){&f, &rows, &in, &out});
    assert_close(p, out, y, count, 16 * p->unit * (gate ? 64 : 8));
    launch(p, "activation_grad", 1, (void *[]){&f, &rows, &in, &in_dy, &gradient});
    assert_close(p, gradient, dx, inputs, 16 * p->unit * (gate ? 64 : 8));
    launch(p, "activation_grad", 1, (void *[]){&f, &rows, &in, &in_dy, &at}); /* in place: equal bits */
    assert_memory_equal(at, gradient, (size_t)(inputs * p->real_bytes));
    FREE(x, dy, y, dx, in, in_dy, out, gradient);
}

static void test_activations_and_gates_are_those_of_the_reference(void **state) {
    (void)state;
    static const int rows[] = {1, 7, 65};
    for (int i = 0; i < EXACT_PRECISIONS * 3 * LH_ACTIVATIONS; i++)
        check_activation(&PRECISIONS[i % 2], i / 6, rows[i / 2 % 3]);
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

/* Rates of all sizes, then those at which an element is barely kept: the eight of a block. */
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

/* The order of the sum is part of the interface: bits equal those of a left fold. */
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
        /* a parameter of at most 1 is rounded once per update, a change is about 1e-3; moments are below 1 */
        assert_close(p, in, parameter, PIECE, step * 1.1 * p->unit);
        assert_close(p, moment1, first, PIECE, 8 * p->unit);
        assert_close(p, moment2, second, PIECE, 0.02 * p->unit);
        lh_assert_close(sums, squares, 2, 1e3 * p->unit, 0);
        FREE(gradient, before, in_gradient);
    }
    FREE(parameter, first, second, in, moment1, moment2);
}

/* m and v are (1 - b) times the gradient after the first step, and the corrections divide by (1 - b). */
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

typedef enum rule { ADAMW, SGD, MOMENTUM } rule;

static void update_by_twin(rule how, int step, double rate, double norm, const double *g, double *p, double *state[2]) {
    const lh_ref_adam adam = {.learning_rate = rate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .clip_norm = 1};
    const lh_ref_sgd sgd = {.learning_rate = rate, .clip_norm = 1};
    if (how == SGD) lh_ref_sgd_update(&sgd, norm, PIECE, g, p);
    if (how == MOMENTUM) lh_ref_momentum_update(&sgd, 0.9, norm, PIECE, g, p, state[0]);
    for (int i = 0; how == ADAMW && i < PIECE; i++)
        lh_ref_adamw_update(&adam, i % 3 == 0 ? 0 : 0.1, step, norm, 1, g + i, p + i, state[0] + i, state[1] + i);
}

static void update_on_device(const precision *p, rule how, int step, double rate, double clip, void *vectors[4],
                             double *sums) {
    double corrected = rate / (1 - pow(0.9, step)), correct2 = 1 / (1 - pow(0.999, step)), decay = rate * 0.1;
    void **g = &vectors[0], **q = &vectors[1], **first = &vectors[2], **second = &vectors[3];
    if (how == ADAMW)
        launch(p, "adamw", 1, (void *[]){&clip, &corrected, &correct2, &decay, g, first, second, q, &sums});
    else if (how == SGD) launch(p, "sgd", 1, (void *[]){&clip, &rate, g, q, &sums});
    else launch(p, "momentum", 1, (void *[]){&clip, &rate, g, first, q, &sums});
}

/* Makes this number of updates of a piece, with a falling learning rate and some clipped gradients. */
static void check_rule(const precision *p, rule how, int updates) {
    double *parameter = numbers(PIECE, 10), *state[2] = {doubles(PIECE), doubles(PIECE)};
    for (int i = 0; i < 2; i++) memset(state[i], 0, PIECE * sizeof *state[i]);
    void *in = reals_of(p, PIECE, parameter), *first = reals_of(p, PIECE, state[0]),
         *second = reals_of(p, PIECE, state[1]);
    for (int step = 1; step <= updates; step++) {
        double *gradient = numbers(PIECE, 10 + (uint64_t)step), *before = doubles(PIECE), squares[2] = {0}, sums[2];
        double rate = 1e-2 / step, scale = step % 3 == 0 ? 1 : 1e-2, moved[2] = {0};
        for (int i = 0; i < PIECE; i++) squares[0] += pow(gradient[i] = (float)(gradient[i] * scale), 2);
        double norm = sqrt(squares[0]), clip = fmin(1, 1 / norm);
        void *in_gradient = reals_of(p, PIECE, gradient);
        memcpy(before, parameter, PIECE * sizeof *before);
        update_by_twin(how, step, rate, norm, gradient, parameter, state);
        update_on_device(p, how, step, rate, clip, (void *[]){in_gradient, in, first, second}, sums);
        for (int i = 0; i < PIECE; i++) {
            moved[0] += parameter[i] * parameter[i];
            moved[1] += pow(parameter[i] - before[i], 2);
        }
        /* a parameter near 1 is rounded once per update, and so are sums and moments below 1 */
        assert_close(p, in, parameter, PIECE, (step + 4) * 1.5 * p->unit);
        if (how != SGD) assert_close(p, first, state[0], PIECE, 8 * p->unit);
        if (how == ADAMW) assert_close(p, second, state[1], PIECE, 0.1 * p->unit);
        lh_assert_close(&sums[0], &moved[0], 1, 1e3 * p->unit, 0);
        lh_assert_close(&sums[1], &moved[1], 1, 1e6 * p->unit, 0); /* the difference of parameters has cancellation */
        FREE(gradient, before, in_gradient);
    }
    FREE(parameter, state[0], state[1], in, first, second);
}

static void test_fifty_updates_of_each_rule_are_those_of_the_reference(void **state) {
    (void)state;
    for (rule how = ADAMW; how <= MOMENTUM; how++) {
        check_rule(&PRECISIONS[0], how, 2);
        check_rule(&PRECISIONS[1], how, 50);
    }
}

static void test_whole_powers_are_those_of_the_host(void **state) {
    (void)state;
    double base = 0.9, out[THREADS], *to = out;
    launch(&PRECISIONS[1], "power", 1, (void *[]){&base, &to});
    for (int n = 0; n < THREADS; n++) assert_true(out[n] == lh_power(base, n));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_every_order_size_and_finish),
        cmocka_unit_test(test_product_over_nothing_is_zero),
        cmocka_unit_test(test_rows_of_a_product_do_not_hang_on_their_number),
        cmocka_unit_test(test_column_sums_of_every_size),
        cmocka_unit_test(test_norms_and_sums_are_those_of_the_reference),
        cmocka_unit_test(test_norms_without_a_mask_drop_nothing),
        cmocka_unit_test(test_activations_and_gates_are_those_of_the_reference),
        cmocka_unit_test(test_masks_are_those_of_the_reference),
        cmocka_unit_test(test_fold_is_a_left_fold_of_the_same_bits),
        cmocka_unit_test(test_squares_of_pieces),
        cmocka_unit_test(test_totals_are_the_same_in_all_threads),
        cmocka_unit_test(test_first_step_is_the_rate_of_every_gradient),
        cmocka_unit_test(test_three_updates_are_those_of_the_reference),
        cmocka_unit_test(test_fifty_updates_of_each_rule_are_those_of_the_reference),
        cmocka_unit_test(test_whole_powers_are_those_of_the_host),
    };
    return cmocka_run_group_tests_name("operations", tests, NULL, NULL);
}
