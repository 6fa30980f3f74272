/* The hand-written operations of kernels/cuda in the emulation, one by one, compared with kernels/ref in double: sums
 * over rows, norms, activations and dropout. */
#include "operation_arrays.h"

/* ---- sums over rows ---- */

static void check_columns(const precision *p, int rows, int columns) {
    double *a = make_numbers(rows * columns, 4), *expected = reserve_doubles(columns);
    void *in = to_reals(p, rows * columns, a), *sum = reserve((size_t)(columns * p->real_bytes));
    memset(expected, 0, (size_t)columns * sizeof *expected);
    for (int i = 0; i < rows * columns; i++) expected[i % columns] += a[i];
    launch(p, "columns", 1, (void *[]){&rows, &columns, &in, &sum});
    assert_close(p, sum, expected, columns, rows * p->unit * rows);
    FREE(a, expected, in, sum);
}

static void test_column_sums_of_every_size_match_plain_sums(void **state) {
    static const int rows[] = {0, 1, 7, 65, 130}, columns[] = {4, 40, 100, 256, 300};
    for (int i = 0; i < EXACT_PRECISIONS * 5 * 5; i++)
        check_columns(&PRECISIONS[i % 2], rows[i / 2 % 5], columns[i / 10]);
}

/* Adds rows to a table of `places` rows, which already has numbers. */
static void check_placed_rows(const precision *p, int rows, int places) {
    double *dy = make_numbers(rows * WIDTH, 5), *expected = make_numbers(places * WIDTH, 6);
    int *place = reserve((size_t)(rows + 1) * sizeof *place);
    void *in = to_reals(p, rows * WIDTH, dy), *table = to_reals(p, places * WIDTH, expected);
    for (int i = 0; i < rows; i++) place[i] = (i * i + 3 * i) % places;
    for (int i = 0; i < rows * WIDTH; i++) expected[place[i / WIDTH] * WIDTH + i % WIDTH] += dy[i];
    launch(p, "placed", 1, (void *[]){&rows, &place, &in, &table});
    assert_close(p, table, expected, places * WIDTH, (rows + 1) * p->unit * (rows + 1));
    FREE(dy, expected, place, in, table);
}

static void test_rows_with_a_common_place_are_added_to_it(void **state) {
    static const int rows[] = {0, 1, 8, 43}, places[] = {1, 3, 50};
    for (int i = 0; i < EXACT_PRECISIONS * 4 * 3; i++)
        check_placed_rows(&PRECISIONS[i % 2], rows[i / 2 % 4], places[i / 8]);
}

/* ---- norms, with and without a residual connection ---- */

enum { MOST_ROWS = 65, NORM = MOST_ROWS * WIDTH };

/* Inputs, and the results of kernels/ref, in double. */
typedef struct norm_case {
    lh_norm n;
    int count;
    unsigned char keep[NORM / 8];
    double *residual, *branch, *scale, *offset, *dy, *stream; /* stream: an existing gradient */
    double z[NORM], y[NORM], dz[NORM], dbranch[NORM], dscale[WIDTH], doffset[WIDTH];
} norm_case;

static bool is_kept(const norm_case *c, int i) { return c->keep[i / 8] >> i % 8 & 1; }

static double apply_dropout(const norm_case *c, int i, double x) {
    return !c->n.dropout ? x : is_kept(c, i) ? c->n.keep_scale * x : 0;
}

static norm_case *new_norm_case(lh_norm n) {
    norm_case *c = reserve(sizeof *c);
    *c = (norm_case){.n = n, .count = n.rows * WIDTH};
    c->residual = make_numbers(c->count, 6), c->branch = make_numbers(c->count, 7), c->scale = make_numbers(WIDTH, 8);
    c->offset = make_numbers(WIDTH, 9), c->dy = make_numbers(c->count, 10), c->stream = make_numbers(c->count, 11);
    for (int i = 0; i < NORM / 8; i++) c->keep[i] = (unsigned char)(37 * i + 11);
    for (int i = 0; i < c->count; i++)
        c->z[i] = c->residual[i] + (n.form >= LH_SUM ? apply_dropout(c, i, c->branch[i]) : 0);
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
        c->dbranch[i] = apply_dropout(c, i, c->dz[i]);
    }
    return c;
}

static void free_norm_case(norm_case *c) { FREE(c->residual, c->branch, c->scale, c->offset, c->dy, c->stream, c); }

/* in_place: sums overwrite the residual, the norm's output the branch, gradients dy. */
static void check_norm(const precision *p, lh_norm n, bool in_place) {
    norm_case *c = new_norm_case(n);
    int count = c->count;
    void *residual = to_reals(p, count, c->residual), *branch = to_reals(p, count, c->branch), *keep = c->keep;
    void *scale = to_reals(p, WIDTH, c->scale), *offset = to_reals(p, WIDTH, c->offset);
    void *dy = to_reals(p, count, c->dy), *stream = to_reals(p, count, c->stream);
    size_t bytes = (size_t)(count * p->real_bytes), channels = (size_t)(WIDTH * p->real_bytes);
    void *new_sum = reserve(bytes), *new_y = reserve(bytes), *new_dbranch = reserve(bytes), *xhat = reserve(bytes);
    void *rstd = reserve((size_t)(n.rows * p->real_bytes)), *dscale = reserve(channels), *doffset = reserve(channels);
    bool adds = n.form == LH_ALONE_ADDED || n.form == LH_SUM_KEPT, has_norm = n.form != LH_SUM_ONLY;
    void *sum = in_place ? residual : new_sum, *y = in_place ? branch : new_y, *dz = in_place && !adds ? dy : stream;
    void *dbranch = in_place && (adds || !has_norm) ? dy : new_dbranch;
    lh_norm forward = n;
    if (n.form == LH_ALONE_ADDED) forward.form = LH_ALONE; /* the form differs only in the backward pass */
    launch(p, "norm", 1, (void *[]){&forward, &residual, &branch, &keep, &scale, &offset, &sum, &xhat, &rstd, &y});
    launch(p, "norm_grad", 1, (void *[]){&n, &dy, &xhat, &rstd, &scale, &keep, &dz, &dbranch, &dscale, &doffset});
    double unit = p->unit; /* numbers, also xhat, are at most about 4; RMS norm's sums may be small */
    if (n.form >= LH_SUM_KEPT) assert_close(p, sum, c->z, count, 4 * unit);
    if (has_norm) {
        assert_close(p, y, c->y, count, 2 * WIDTH * unit * 4);
        assert_close(p, dz, c->dz, count, 2 * WIDTH * unit * 4);
        assert_close(p, dscale, c->dscale, WIDTH, 4 * (WIDTH + n.rows) * unit * (n.rows + 1));
    }
    if (has_norm && !n.rms) assert_close(p, doffset, c->doffset, WIDTH, n.rows * unit * n.rows);
    if (n.dropout || !has_norm) assert_close(p, dbranch, c->dbranch, count, 2 * WIDTH * unit * 8);
    FREE(residual, branch, scale, offset, dy, stream, new_sum, new_y, new_dbranch, xhat, rstd, dscale, doffset);
    free_norm_case(c);
}

static void test_norms_and_sums_are_those_of_the_reference(void **state) {
    static const int rows[] = {1, 7, MOST_ROWS};
    for (int i = 0; i < 3 * LH_FORMS * 4; i++) {
        const lh_norm n = {rows[i % 3], i / 3 % LH_FORMS, i / 3 / LH_FORMS % 2, i / 6 / LH_FORMS, 1.25};
        bool is_plain_norm = n.form < LH_SUM,
             exists = !(is_plain_norm && n.dropout) && !(n.form == LH_SUM_ONLY && n.rms);
        for (int k = 0; exists && k < EXACT_PRECISIONS; k++) check_norm(&PRECISIONS[k], n, (i + k) % 2);
        if (exists) check_norm(&PRECISIONS[IN_QUADS], n, i % 2);
    }
}

/* In evaluation the function with dropout, without a mask, gives the bits of the function without dropout. */
static void test_norms_without_a_mask_drop_nothing(void **state) {
    for (int i = 0; i < 2 * 3 * 2; i++) {
        const precision *p = &PRECISIONS[i / 6 ? IN_QUADS : 1];
        lh_norm n = {7, LH_SUM + i % 6 / 2, i % 2, 0, 1.25};
        if (n.form == LH_SUM_ONLY && n.rms) continue;
        norm_case *c = new_norm_case(n);
        void *residual = to_reals(p, c->count, c->residual), *branch = to_reals(p, c->count, c->branch), *keep = NULL;
        void *scale = to_reals(p, WIDTH, c->scale), *offset = to_reals(p, WIDTH, c->offset), *sum[2], *y[2];
        void *xhat = to_reals(p, c->count, c->z), *rstd = to_reals(p, n.rows, c->z);
        for (n.dropout = 0; n.dropout < 2; n.dropout++) {
            sum[n.dropout] = to_reals(p, c->count, c->dy), y[n.dropout] = to_reals(p, c->count, c->dy);
            launch(p, "norm", 1,
                   (void *[]){&n, &residual, &branch, &keep, &scale, &offset, &sum[n.dropout], &xhat, &rstd,
                              &y[n.dropout]});
        }
        assert_memory_equal(sum[0], sum[1], (size_t)(c->count * p->real_bytes));
        assert_memory_equal(y[0], y[1], (size_t)(c->count * p->real_bytes));
        FREE(residual, branch, scale, offset, xhat, rstd, sum[0], sum[1], y[0], y[1]);
        free_norm_case(c);
    }
}

/* ---- activations and gates ---- */

static void check_activation(const precision *p, int f, int rows) {
    bool is_gate = f >= LH_SWIGLU;
    lh_ref_nonlinearity nonlinearity = !is_gate ? (lh_ref_nonlinearity)f : f == LH_SWIGLU ? LH_REF_SILU : LH_REF_GELU;
    int count = rows * WIDTH, inputs = is_gate ? 2 * count : count;
    double *x = make_numbers(inputs, 12), *dy = make_numbers(count, 13), *y = reserve_doubles(count),
           *dx = reserve_doubles(inputs);
    for (int i = 0; i < inputs; i++) x[i] *= 8;
    if (is_gate) {
        lh_ref_gate(nonlinearity, rows, WIDTH, x, y);
        lh_ref_gate_grad(nonlinearity, rows, WIDTH, x, dy, dx);
    } else {
        lh_ref_activation(nonlinearity, count, x, y);
        lh_ref_activation_grad(nonlinearity, count, x, dy, dx);
    }
    void *in = to_reals(p, inputs, x), *in_dy = to_reals(p, count, dy), *out = to_reals(p, count, dy);
    void *gradient = to_reals(p, inputs, x), *in_place = is_gate ? in : in_dy;
    launch(p, "activation", 1, (void *[]){&f, &rows, &in, &out});
    assert_close(p, out, y, count, 16 * p->unit * (is_gate ? 64 : 8));
    launch(p, "activation_grad", 1, (void *[]){&f, &rows, &in, &in_dy, &gradient});
    assert_close(p, gradient, dx, inputs, 16 * p->unit * (is_gate ? 64 : 8));
    launch(p, "activation_grad", 1, (void *[]){&f, &rows, &in, &in_dy, &in_place});
    assert_memory_equal(in_place, gradient, (size_t)(inputs * p->real_bytes));
    FREE(x, dy, y, dx, in, in_dy, out, gradient);
}

static void test_activations_and_gates_are_those_of_the_reference(void **state) {
    static const int rows[] = {1, 7, 65};
    for (int i = 0; i < EXACT_PRECISIONS * 3 * LH_ACTIVATIONS; i++)
        check_activation(&PRECISIONS[i % 2], i / 6, rows[i / 2 % 3]);
}

/* ---- dropout ---- */

enum { MASKS = 100, ELEMENTS = 8 * MASKS };

static void check_masks(const precision *p, const lh_ref_dropout *site, uint32_t example) {
    int count = MASKS;
    unsigned char bytes[MASKS], elements[ELEMENTS], *out = bytes, *element_bytes = elements;
    lh_masks m = {
        {site->key.word[0], site->key.word[1]}, site->step, example, site->site, (unsigned)lround(65536 * site->rate)};
    launch(p, "keep", 1, (void *[]){&m, &count, &out, &element_bytes});
    for (unsigned e = 0; e < ELEMENTS; e++) {
        assert_int_equal(bytes[e / 8] >> e % 8 & 1, lh_ref_dropout_keeps(site, example, e));
        assert_int_equal(elements[e], lh_ref_dropout_keeps(site, example, e));
    }
}

/* Rates of all sizes, then for each of eight elements the highest rate at which this element is kept. */
static void test_masks_are_those_of_the_reference(void **state) {
    static const double rates[] = {0, 0.1, 0.5, 0.999};
    for (uint32_t i = 0; i < 4 + 8; i++) {
        lh_ref_dropout site = {lh_key_of_seed(0xfeedULL << 32 | i), 5 + i, lh_site(LH_DOMAIN_DROPOUT, i % 3, i % 2), 0};
        uint32_t example = 70000 * i, counter[4] = {13, site.site, example, site.step}, word[4];
        lh_philox(counter, site.key, word);
        site.rate = i < 4 ? rates[i] : (word[(i - 4) / 2] >> (16 * (i % 2)) & 0xffff) / 65536.0;
        check_masks(&PRECISIONS[i % 2], &site, example);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_column_sums_of_every_size_match_plain_sums),
        cmocka_unit_test(test_rows_with_a_common_place_are_added_to_it),
        cmocka_unit_test(test_norms_and_sums_are_those_of_the_reference),
        cmocka_unit_test(test_norms_without_a_mask_drop_nothing),
        cmocka_unit_test(test_activations_and_gates_are_those_of_the_reference),
        cmocka_unit_test(test_masks_are_those_of_the_reference),
    };
    return cmocka_run_group_tests_name("operations", tests, NULL, NULL);
}
