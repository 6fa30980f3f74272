/* bench/gradcheck.h: right gradients pass, also near kinks, and one element that is slightly off is found. The tests
 * use two models: a generated model, whose ReLUs have kinks at arbitrary points, and the toy. The tests add kinks to
 * the toy near the value of one parameter. */
#include "support/lh_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_level.h"
#include "bench/gradcheck.h"
#include "support/toy_program.h"
#include "support/toy_spec.h"

extern const lh_spec longhand_spec_parity_float64_rope;

/* An error that is added to an element, relative to the largest element of the gradient of its tensor. */
static const double PLANTED_ERROR = 1e-4;
static const double JUMP = 0.5; /* jump of the slope at a kink of the toy */
enum { SEEDS = 10, LENGTH = 9, KINKED = 2 /* index of the element of TOY_SCALE that has kinks */ };

/* A program that records the gradient of its first step, adds a number to one element of the gradient in every step,
 * and may have kinks. */
static struct {
    const lh_cpu_program *right; /* the program without changes */
    double *first_gradient;      /* [parameter_storage] */
    int64_t chunks;              /* chunks of a gradient */
    int64_t calls;               /* calls of alter_gradient, one for each chunk of a step */
    int64_t element;             /* index of the changed element; -1: no change */
    double amount;               /* number that is added to the element */
    const double *kinks;         /* distances from the parameter's value in the first step; ends with 0, or NULL */
    double origin;               /* the parameter's value in the first step, if has_origin */
    bool has_origin;
} altered_program;

/* Records and alters a chunk of the gradient before it computes the squared norm of the chunk. */
static double alter_gradient(const void *gradient, size_t count) {
    int64_t chunk = altered_program.calls++ % altered_program.chunks, first = chunk * LH_CHUNK;
    double *g = (double *)gradient;
    if (altered_program.calls <= altered_program.chunks)
        memcpy(altered_program.first_gradient + first, g, count * sizeof *g);
    if (altered_program.element >= first && altered_program.element < first + LH_CHUNK)
        g[altered_program.element - first] += altered_program.amount;
    return altered_program.right->squared_norm(gradient, count);
}

/* Adds a ReLU of the parameter at each kink to the loss of every position. */
static void train_altered_block(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                                lh_sums *sums) {
    int64_t i = lh_toy_spec.tensors[TOY_SCALE].offset + KINKED;
    double value = ((const double *)step->parameters)[i], positions = block->sequences * step->shape.labels;
    altered_program.right->train_block(step, block, workspace, gradient, sums);
    if (!altered_program.has_origin) altered_program.origin = value;
    altered_program.has_origin = true;
    for (const double *kink = altered_program.kinks; *kink != 0; kink++) {
        double excess = value - (altered_program.origin + *kink);
        if (excess <= 0) continue;
        sums->loss += positions * JUMP * excess;
        ((double *)gradient)[i] += positions * block->loss_scale * JUMP;
    }
}

/* Checks a spec with the altered program; results: [tensor_count]. */
static void check_gradients(const lh_spec *spec, uint64_t seed, int64_t element, double amount,
                            lh_gradcheck_result *results) {
    lh_cpu_program program;
    const lh_cpu_program *list[] = {&program, NULL};
    lh_error error = {""};
    lh_target target;
    lh_assert_ok(lh_level_choose(spec->cpu, &altered_program.right, &error), &error);
    program = *altered_program.right;
    program.squared_norm = alter_gradient;
    if (altered_program.kinks != NULL) program.train_block = train_altered_block;
    lh_spec altered_spec = *spec;
    altered_spec.cpu = list;
    altered_program.chunks = spec->parameter_storage / LH_CHUNK;
    altered_program.calls = 0;
    altered_program.has_origin = false;
    altered_program.element = element;
    altered_program.amount = amount;
    memset(results, 0, (size_t)spec->tensor_count * sizeof *results);
    lh_assert_ok(lh_target_open(&target, &altered_spec, "cpu", &error), &error);
    lh_assert_ok(lh_gradcheck(&target, LENGTH, seed, results, &error), &error);
    lh_target_close(&target);
}

static int count_kinks(const lh_spec *spec, const lh_gradcheck_result *results) {
    int kinks = 0;
    for (int t = 0; t < spec->tensor_count; t++) kinks += results[t].kinks;
    return kinks;
}

/* Asserts that every tensor passes except this one; -1: that all tensors pass. */
static void assert_only_wrong(const lh_spec *spec, const lh_gradcheck_result *results, int wrong_tensor) {
    for (int t = 0; t < spec->tensor_count; t++) {
        if (results[t].checks == 0 || results[t].passed == (t != wrong_tensor)) continue;
        print_error("%s: %s, worst error %g\n", spec->tensors[t].name, results[t].passed ? "passed" : "wrong",
                    results[t].worst_error);
        fail();
    }
}

/* Returns the index of a tensor's element in the vector of parameters. *amount: PLANTED_ERROR times the largest
 * absolute value of the tensor's elements in the first gradient. */
static int64_t find_element(const lh_tensor *tensor, int64_t element, double *amount) {
    int64_t rows = tensor->rank == 1 ? 1 : tensor->shape[0], columns = tensor->shape[tensor->rank - 1];
    *amount = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            *amount = fmax(*amount, PLANTED_ERROR *
                                        fabs(altered_program.first_gradient[tensor->offset + r * tensor->stride + c]));
    element %= rows * columns;
    return tensor->offset + element / columns * tensor->stride + element % columns;
}

static lh_gradcheck_result *open_check(const lh_spec *spec, const double *kinks) {
    memset(&altered_program, 0, sizeof altered_program);
    altered_program.first_gradient = calloc((size_t)spec->parameter_storage, sizeof *altered_program.first_gradient);
    altered_program.kinks = kinks;
    lh_gradcheck_result *results = calloc((size_t)spec->tensor_count, sizeof *results);
    assert_true(altered_program.first_gradient != NULL && results != NULL);
    return results;
}

static void close_check(lh_gradcheck_result *results) {
    free(altered_program.first_gradient);
    free(results);
}

static void test_gradcheck_of_a_model_with_kinks_passes(void **state) {
    const lh_spec *spec = &longhand_spec_parity_float64_rope;
    lh_gradcheck_result *results = open_check(spec, NULL);
    int kinks = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        check_gradients(spec, seed, -1, 0, results);
        assert_only_wrong(spec, results, -1);
        kinks += count_kinks(spec, results);
    }
    assert_true(kinks > 0);
    close_check(results);
}

static void test_gradcheck_finds_one_wrong_element_of_a_model(void **state) {
    const lh_spec *spec = &longhand_spec_parity_float64_rope;
    lh_gradcheck_result *results = open_check(spec, NULL);
    check_gradients(spec, 1, -1, 0, results);
    for (int t = 0; t < spec->tensor_count; t++) {
        double amount;
        if (!spec->tensors[t].learned) continue;
        int64_t element = find_element(&spec->tensors[t], 77 + 5 * t, &amount);
        check_gradients(spec, 1, element, t % 2 == 0 ? amount : -amount, results);
        assert_only_wrong(spec, results, t);
    }
    close_check(results);
}

/* Kinks on either side, on both sides, and nearer than the step of any difference. Two kinks at the same distance would
 * cancel in a two-sided difference. The kink at -1 is farther than the step of any difference: it only makes the
 * gradient large. */
static void test_gradcheck_passes_near_kinks(void **state) {
    static const double kinks[][4] = {{1e-7, -1}, {-1e-7, -1}, {1e-7, -3e-7, -1}, {1e-9, -1e-7, -1}, {4e-6, -3e-6, -1}};
    lh_spec spec = lh_toy_make_spec(toy_double_list);
    spec.precision = "float64";
    for (int i = 0; i < (int)(sizeof kinks / sizeof *kinks); i++) {
        double amount;
        lh_gradcheck_result *results = open_check(&spec, kinks[i]);
        check_gradients(&spec, 0, -1, 0, results);
        assert_only_wrong(&spec, results, -1);
        assert_true(results[TOY_SCALE].kinks > 0);
        assert_int_equal(count_kinks(&spec, results), results[TOY_SCALE].kinks);
        int64_t element = find_element(&spec.tensors[TOY_SCALE], KINKED, &amount);
        for (int sign = -1; sign <= 1; sign += 2) {
            check_gradients(&spec, 0, element, sign * amount, results);
            assert_only_wrong(&spec, results, TOY_SCALE);
        }
        close_check(results);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradcheck_of_a_model_with_kinks_passes),
        cmocka_unit_test(test_gradcheck_finds_one_wrong_element_of_a_model),
        cmocka_unit_test(test_gradcheck_passes_near_kinks),
    };
    return cmocka_run_group_tests_name("gradcheck", tests, NULL, NULL);
}
