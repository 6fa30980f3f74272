/* Kernels that process rows of activations, kernels/cpu/norm.h and activations.h, compared with kernels/ref. */
#include "support/lh_kernels.h"

#include "base/cpu_level.h"
#include "kernels/cpu/activations.h"
#include "kernels/cpu/norm.h"
#include "kernels/ref/ref.h"

enum { ROWS = 7, C = 3 * LANES, COUNT = ROWS * C, KEEP_SCALE = 2 };

/* ---- norms ---- */

enum form {
    RESIDUAL,   /* the norm's input is the residual */
    SUM,        /* the norm's input is the sum of residual and branch */
    STORED_SUM, /* as SUM; the sum is also stored */
    FORMS       /* number of forms */
};

/* One of the functions: layer or RMS norm, its input, and whether the branch has dropout. */
typedef struct variant {
    bool is_rms, has_dropout;
    enum form form;
} variant;

typedef struct arrays {
    real *residual, *branch, *scale, *offset, *dy;
    real *sum, *xhat, *rstd, *y, *dbranch, *dscale, *doffset;
    real *dz; /* gradient of the norm's input; before the backward pass, the gradient of the residual stream */
    int8_t *keep;
} arrays;

static arrays make_arrays(void) {
    arrays a = {.residual = make_random_reals(1, COUNT, COUNT),
                .branch = make_random_reals(2, COUNT, COUNT),
                .scale = make_random_reals(3, C, C),
                .offset = make_random_reals(4, C, C),
                .dy = make_random_reals(5, COUNT, COUNT),
                .sum = make_random_reals(0, 0, COUNT),
                .xhat = make_reals(COUNT),
                .rstd = make_reals(ROWS),
                .y = make_reals(COUNT),
                .dz = make_random_reals(6, COUNT, COUNT),
                .dbranch = make_reals(COUNT),
                .dscale = make_random_reals(7, C, C),
                .doffset = make_random_reals(8, C, C),
                .keep = malloc(COUNT)};
    assert_non_null(a.keep);
    for (int i = 0; i < COUNT; i++) a.keep[i] = i % 3 ? -1 : 0;
    return a;
}

static void free_arrays(arrays *a) {
    free_all(a->residual, a->branch, a->scale, a->offset, a->dy, a->sum, a->xhat, a->rstd, a->y, a->dz, a->dbranch,
             a->dscale, a->doffset, a->keep);
}

#define NORM_RESULTS a->xhat, a->rstd, a->y
#define DROPOUT a->keep, KEEP_SCALE

NOINLINE void run_layer_forward(const variant *v, arrays *a) {
    if (v->form == RESIDUAL) layer_norm(ROWS, C, a->residual, a->scale, a->offset, NORM_RESULTS);
    else if (v->form == SUM && v->has_dropout)
        add_dropout_norm(ROWS, C, a->residual, a->branch, DROPOUT, a->scale, a->offset, NORM_RESULTS);
    else if (v->form == SUM) add_norm(ROWS, C, a->residual, a->branch, a->scale, a->offset, NORM_RESULTS);
    else if (v->has_dropout)
        add_dropout_norm_sum(ROWS, C, a->residual, a->branch, DROPOUT, a->scale, a->offset, a->sum, NORM_RESULTS);
    else add_norm_sum(ROWS, C, a->residual, a->branch, a->scale, a->offset, a->sum, NORM_RESULTS);
}

NOINLINE void run_rms_forward(const variant *v, arrays *a) {
    if (v->form == RESIDUAL) rms_norm(ROWS, C, a->residual, a->scale, NORM_RESULTS);
    else if (v->form == SUM && v->has_dropout)
        rms_add_dropout_norm(ROWS, C, a->residual, a->branch, DROPOUT, a->scale, NORM_RESULTS);
    else if (v->form == SUM) rms_add_norm(ROWS, C, a->residual, a->branch, a->scale, NORM_RESULTS);
    else if (v->has_dropout)
        rms_add_dropout_norm_sum(ROWS, C, a->residual, a->branch, DROPOUT, a->scale, a->sum, NORM_RESULTS);
    else rms_add_norm_sum(ROWS, C, a->residual, a->branch, a->scale, a->sum, NORM_RESULTS);
}

#define GRADIENT_INPUTS a->dy, a->xhat, a->rstd, a->scale
#define PARAMETER_GRADIENTS a->dscale, a->doffset

NOINLINE void run_layer_backward(const variant *v, arrays *a) {
    if (v->form == RESIDUAL) layer_norm_grad(ROWS, C, GRADIENT_INPUTS, a->dz, PARAMETER_GRADIENTS);
    else if (v->form == SUM && v->has_dropout)
        add_dropout_norm_grad(ROWS, C, GRADIENT_INPUTS, DROPOUT, a->dz, a->dbranch, PARAMETER_GRADIENTS);
    else if (v->form == SUM) add_norm_grad(ROWS, C, GRADIENT_INPUTS, a->dz, PARAMETER_GRADIENTS);
    else if (v->has_dropout)
        add_dropout_norm_sum_grad(ROWS, C, GRADIENT_INPUTS, DROPOUT, a->dz, a->dbranch, PARAMETER_GRADIENTS);
    else add_norm_sum_grad(ROWS, C, GRADIENT_INPUTS, a->dz, PARAMETER_GRADIENTS);
}

NOINLINE void run_rms_backward(const variant *v, arrays *a) {
    if (v->form == RESIDUAL) rms_norm_grad(ROWS, C, GRADIENT_INPUTS, a->dz, a->dscale);
    else if (v->form == SUM && v->has_dropout)
        rms_add_dropout_norm_grad(ROWS, C, GRADIENT_INPUTS, DROPOUT, a->dz, a->dbranch, a->dscale);
    else if (v->form == SUM) rms_add_norm_grad(ROWS, C, GRADIENT_INPUTS, a->dz, a->dscale);
    else if (v->has_dropout)
        rms_add_dropout_norm_sum_grad(ROWS, C, GRADIENT_INPUTS, DROPOUT, a->dz, a->dbranch, a->dscale);
    else rms_add_norm_sum_grad(ROWS, C, GRADIENT_INPUTS, a->dz, a->dscale);
}

static void run_forward(const variant *v, arrays *a) {
    if (v->is_rms) run_rms_forward(v, a);
    else run_layer_forward(v, a);
}

static void run_backward(const variant *v, arrays *a) {
    if (v->is_rms) run_rms_backward(v, a);
    else run_layer_backward(v, a);
}

/* Results of kernels/ref. */
typedef struct expected {
    double z[COUNT], y[COUNT], dz[COUNT], dbranch[COUNT], dscale[C], doffset[C];
} expected;

static void copy_to_double(const real *x, int count, double *to) {
    for (int i = 0; i < count; i++) to[i] = x[i];
}

static expected *compute_expected(const variant *v, const arrays *a) {
    expected *e = malloc(sizeof *e);
    assert_non_null(e);
    double scale[C], offset[C], dy[COUNT], stream[COUNT];
    copy_to_double(a->scale, C, scale);
    copy_to_double(a->offset, C, offset);
    copy_to_double(a->dy, COUNT, dy);
    copy_to_double(a->dz, COUNT, stream);
    copy_to_double(a->residual, COUNT, e->z);
    copy_to_double(a->dscale, C, e->dscale);
    copy_to_double(a->doffset, C, e->doffset);
    for (int i = 0; v->form != RESIDUAL && i < COUNT; i++)
        e->z[i] += !v->has_dropout ? a->branch[i] : a->keep[i] ? KEEP_SCALE * a->branch[i] : 0;
    if (v->is_rms) {
        lh_ref_rms_norm(ROWS, C, e->z, scale, e->y);
        lh_ref_rms_norm_grad(ROWS, C, e->z, scale, dy, e->dz, e->dscale);
    } else {
        lh_ref_layer_norm(ROWS, C, e->z, scale, offset, e->y);
        lh_ref_layer_norm_grad(ROWS, C, e->z, scale, dy, e->dz, e->dscale, e->doffset);
    }
    for (int i = 0; i < COUNT; i++) {
        if (v->form == STORED_SUM) e->dz[i] += stream[i];
        e->dbranch[i] = a->keep[i] ? KEEP_SCALE * e->dz[i] : 0;
    }
    return e;
}

static void check_norm(const variant *v) {
    arrays a = make_arrays();
    expected *e = compute_expected(v, &a);
    run_forward(v, &a);
    run_backward(v, &a);
    check_close(a.y, e->y, COUNT, sum_tolerance(C));
    check_close(a.dz, e->dz, COUNT, sum_tolerance(C));
    check_close(a.dscale, e->dscale, C, sum_tolerance(ROWS + C));
    if (!v->is_rms) check_close(a.doffset, e->doffset, C, sum_tolerance(ROWS));
    if (v->form == STORED_SUM) check_close(a.sum, e->z, COUNT, sum_tolerance(0));
    if (v->has_dropout) check_close(a.dbranch, e->dbranch, COUNT, sum_tolerance(C));
    free(e);
    free_arrays(&a);
}

/* Calls `check` for every function; a norm of the residual alone has no dropout. */
static void for_every_norm(void (*check)(const variant *)) {
    for (int i = 0; i < 4 * FORMS; i++) {
        const variant v = {.is_rms = i / 2 % 2, .has_dropout = i % 2, .form = (enum form)(i / 4)};
        if (v.form != RESIDUAL || !v.has_dropout) check(&v);
    }
}

static void test_norms_forward_and_backward_match_reference(void **state) { for_every_norm(check_norm); }

static void assert_same(const real *x, const real *y) { assert_memory_equal(x, y, COUNT * sizeof(real)); }

/* Checks the cases in which the header allows a result to overwrite an input. A stored sum overwrites the residual, and
 * the norm of this sum overwrites the branch. A norm of the residual alone overwrites the residual. Gradients overwrite
 * dy. */
static void check_in_place(const variant *v) {
    arrays a = make_arrays(), b = make_arrays(), in_place = b;
    run_forward(v, &a);
    if (v->form == STORED_SUM) in_place.sum = in_place.residual, in_place.y = in_place.branch;
    if (v->form == RESIDUAL) in_place.y = in_place.residual;
    run_forward(v, &in_place);
    assert_same(in_place.y, a.y);
    assert_same(in_place.xhat, a.xhat);
    if (v->form == STORED_SUM) assert_same(in_place.sum, a.sum);
    if (v->form == STORED_SUM) in_place.dbranch = in_place.dy;
    else in_place.dz = in_place.dy;
    run_backward(v, &a);
    run_backward(v, &in_place);
    assert_same(in_place.dz, a.dz);
    if (v->has_dropout) assert_same(in_place.dbranch, a.dbranch);
    free_arrays(&a);
    free_arrays(&b);
}

static void test_norms_in_place_give_same_bits(void **state) { for_every_norm(check_in_place); }

/* Checks the functions that add the gradient of a norm to an existing gradient. */
static void check_added(bool is_rms) {
    const variant v = {.is_rms = is_rms, .form = RESIDUAL};
    arrays a = make_arrays(), b = make_arrays();
    run_forward(&v, &a);
    run_backward(&v, &a);
    if (is_rms) rms_norm_grad_added(ROWS, C, b.dy, a.xhat, a.rstd, a.scale, b.dz, b.dscale);
    else layer_norm_grad_added(ROWS, C, b.dy, a.xhat, a.rstd, a.scale, b.dz, b.dscale, b.doffset);
    real *stream = make_random_reals(6, COUNT, COUNT);
    double expected_wide[COUNT];
    for (int i = 0; i < COUNT; i++) expected_wide[i] = (double)a.dz[i] + stream[i];
    check_close(b.dz, expected_wide, COUNT, sum_tolerance(0));
    assert_memory_equal(a.dscale, b.dscale, C * sizeof(real));
    free(stream);
    free_arrays(&a);
    free_arrays(&b);
}

static void test_norm_grad_is_added_to_the_stream(void **state) {
    check_added(false);
    check_added(true);
}

/* The constant 1e-5 matters for small rows, and a row of zeros is normalised to 0. */
static void test_norms_of_small_rows_match_reference(void **state) {
    for (int is_rms = 0; is_rms < 2; is_rms++) {
        const variant v = {.is_rms = is_rms, .form = RESIDUAL};
        arrays a = make_arrays();
        for (int i = 0; i < COUNT; i++) a.residual[i] *= i < C ? 0 : (real)1e-4;
        expected *e = compute_expected(&v, &a);
        run_forward(&v, &a);
        check_close(a.y, e->y, COUNT, sum_tolerance(C));
        for (int c = 0; c < C; c++) assert_true(a.xhat[c] == 0);
        free(e);
        free_arrays(&a);
    }
}

/* ---- residual connections alone ---- */

NOINLINE void add_rows(const arrays *a, int has_dropout, real *out) {
    if (has_dropout) add_dropout_branch(ROWS, C, a->residual, a->branch, DROPOUT, out);
    else add_branch(ROWS, C, a->residual, a->branch, out);
}

static void test_branch_is_added_separately_and_in_place(void **state) {
    for (int has_dropout = 0; has_dropout < 2; has_dropout++) {
        arrays a = make_arrays();
        add_rows(&a, has_dropout, a.sum);
        for (int i = 0; i < COUNT; i++) {
            real branch = !has_dropout ? a.branch[i] : a.keep[i] ? KEEP_SCALE * a.branch[i] : 0;
            assert_true(a.sum[i] == a.residual[i] + branch);
        }
        add_rows(&a, has_dropout, a.residual);
        assert_same(a.residual, a.sum);
        free_arrays(&a);
    }
}

static void test_copy_rows_copies_all(void **state) {
    arrays a = make_arrays();
    copy_rows(ROWS, C, a.dy, a.dz);
    assert_same(a.dz, a.dy);
    free_arrays(&a);
}

static void test_dropout_grad_is_right_separately_and_in_place(void **state) {
    arrays a = make_arrays();
    dropout_grad(ROWS, C, a.dy, a.keep, KEEP_SCALE, a.dbranch);
    for (int i = 0; i < COUNT; i++) assert_true(a.dbranch[i] == (a.keep[i] ? KEEP_SCALE * a.dy[i] : 0));
    dropout_grad(ROWS, C, a.dy, a.keep, KEEP_SCALE, a.dy);
    assert_same(a.dy, a.dbranch);
    free_arrays(&a);
}

/* ---- activations and gates ---- */

/* If the terms of an output cancel, its error is that of the terms: a few roundings of the largest argument. */
enum { LARGEST_ARGUMENT = 8 };
static const double MOST_ROUNDINGS = 16 * LARGEST_ARGUMENT;

NOINLINE void activate(lh_ref_nonlinearity f, const real *x, real *y) {
    switch (f) {
    case LH_REF_RELU: relu(ROWS, C, x, y); break;
    case LH_REF_GELU: gelu(ROWS, C, x, y); break;
    case LH_REF_GELU_TANH: gelu_tanh(ROWS, C, x, y); break;
    case LH_REF_SILU: silu(ROWS, C, x, y); break;
    }
}

NOINLINE void activate_grad(lh_ref_nonlinearity f, const real *x, const real *dy, real *dx) {
    switch (f) {
    case LH_REF_RELU: relu_grad(ROWS, C, x, dy, dx); break;
    case LH_REF_GELU: gelu_grad(ROWS, C, x, dy, dx); break;
    case LH_REF_GELU_TANH: gelu_tanh_grad(ROWS, C, x, dy, dx); break;
    case LH_REF_SILU: silu_grad(ROWS, C, x, dy, dx); break;
    }
}

static real *make_arguments(int count) {
    real *x = make_random_reals(1, count, count);
    for (int i = 0; i < count; i++) x[i] *= LARGEST_ARGUMENT;
    return x;
}

static void check_near(const real *actual, const double *expected_wide, int count) {
    double *copy = to_doubles(actual, count);
    lh_assert_close(copy, expected_wide, (size_t)count, 0, MOST_ROUNDINGS * ROUNDING);
    free(copy);
}

static void check_activation(lh_ref_nonlinearity f) {
    real *x = make_arguments(COUNT), *dy = make_random_reals(2, COUNT, COUNT), *y = make_reals(COUNT),
         *dx = make_reals(COUNT);
    double *x_wide = to_doubles(x, COUNT), *dy_wide = to_doubles(dy, COUNT), expected_wide[COUNT];
    activate(f, x, y);
    lh_ref_activation(f, COUNT, x_wide, expected_wide);
    check_near(y, expected_wide, COUNT);
    activate_grad(f, x, dy, dx);
    lh_ref_activation_grad(f, COUNT, x_wide, dy_wide, expected_wide);
    check_near(dx, expected_wide, COUNT);
    activate_grad(f, x, dy, dy);
    assert_same(dy, dx);
    activate(f, x, x);
    assert_same(x, y);
    free_all(x, dy, y, dx, x_wide, dy_wide);
}

static void test_activations_forward_and_backward_match_reference(void **state) {
    for (int f = LH_REF_RELU; f <= LH_REF_SILU; f++) check_activation((lh_ref_nonlinearity)f);
}

/* For large arguments x activations are 0 or x, and slopes 0 or 1, even if a polynomial overflows. */
static void test_activations_of_large_arguments_are_0_or_the_argument(void **state) {
    static const real large_values[] = {-1000000, -100, -40, 40, 100, 1000000};
    for (int f = LH_REF_RELU; f <= LH_REF_SILU; f++) {
        real x[COUNT], y[COUNT], dx[COUNT], unit_gradient[COUNT];
        for (int i = 0; i < COUNT; i++) x[i] = large_values[i % 6], unit_gradient[i] = 1;
        activate((lh_ref_nonlinearity)f, x, y);
        activate_grad((lh_ref_nonlinearity)f, x, unit_gradient, dx);
        for (int i = 0; i < COUNT; i++) {
            double value = x[i] > 0 ? x[i] : 0, slope = x[i] > 0;
            assert_true(fabs(y[i] - value) <= 1e-15 * fabs(x[i]) && fabs(dx[i] - slope) <= 1e-15);
        }
    }
}

NOINLINE void pass_gate(int is_geglu, const real *x, real *y) {
    if (is_geglu) geglu(ROWS, C, x, y);
    else swiglu(ROWS, C, x, y);
}

NOINLINE void pass_gate_grad(int is_geglu, const real *x, const real *dy, real *dx) {
    if (is_geglu) geglu_grad(ROWS, C, x, dy, dx);
    else swiglu_grad(ROWS, C, x, dy, dx);
}

static void test_gates_forward_and_backward_match_reference(void **state) {
    for (int i = 0; i < 2; i++) {
        lh_ref_nonlinearity f = i ? LH_REF_GELU : LH_REF_SILU;
        real *x = make_arguments(2 * COUNT), *dy = make_random_reals(2, COUNT, COUNT), *y = make_reals(COUNT),
             *dx = make_reals(2 * COUNT);
        double *x_wide = to_doubles(x, 2 * COUNT), *dy_wide = to_doubles(dy, COUNT), expected_wide[2 * COUNT];
        pass_gate(i, x, y);
        lh_ref_gate(f, ROWS, C, x_wide, expected_wide);
        check_close(y, expected_wide, COUNT, sum_tolerance(0));
        pass_gate_grad(i, x, dy, dx);
        lh_ref_gate_grad(f, ROWS, C, x_wide, dy_wide, expected_wide);
        check_close(dx, expected_wide, 2 * COUNT, sum_tolerance(0));
        pass_gate_grad(i, x, dy, x);
        assert_memory_equal(x, dx, 2 * COUNT * sizeof(real));
        free_all(x, dy, y, dx, x_wide, dy_wide);
    }
}

static const struct CMUnitTest TESTS[] = {
    cmocka_unit_test(test_norms_forward_and_backward_match_reference),
    cmocka_unit_test(test_norms_in_place_give_same_bits),
    cmocka_unit_test(test_norm_grad_is_added_to_the_stream),
    cmocka_unit_test(test_norms_of_small_rows_match_reference),
    cmocka_unit_test(test_branch_is_added_separately_and_in_place),
    cmocka_unit_test(test_copy_rows_copies_all),
    cmocka_unit_test(test_dropout_grad_is_right_separately_and_in_place),
    cmocka_unit_test(test_activations_forward_and_backward_match_reference),
    cmocka_unit_test(test_activations_of_large_arguments_are_0_or_the_argument),
    cmocka_unit_test(test_gates_forward_and_backward_match_reference),
};

int main(void) {
    if (!lh_level_is_supported(LH_LEVEL_NAME)) {
        print_message("rows: skipped, this machine does not run %s\n", LH_LEVEL_NAME);
        return 0;
    }
    return cmocka_run_group_tests_name(
        REAL_BYTES == 8 ? "rows " LH_LEVEL_NAME " float64" : "rows " LH_LEVEL_NAME " float32", TESTS, NULL, NULL);
}
