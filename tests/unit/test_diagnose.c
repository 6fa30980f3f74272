/* engine/diagnose: the tensors in which a vector is not finite. */
#include "engine/diagnose.h"

#include <math.h>
#include <string.h>

#include "lh_test.h"
#include "toy_spec.h"

static float vector[TOY_STORAGE];
static double double_vector[TOY_STORAGE];

static int clear(void **state) {
    memset(vector, 0, sizeof vector);
    memset(double_vector, 0, sizeof double_vector);
    return 0;
}

/* Element (row, column) of a toy tensor. */
static int64_t find_index(int tensor, int64_t row, int64_t column) {
    return lh_toy_spec.tensors[tensor].offset + row * lh_toy_spec.tensors[tensor].stride + column;
}

static void test_vector_of_finite_values_names_the_largest(void **state) {
    vector[find_index(TOY_TOKEN, 6, 3)] = -7.0f;
    vector[find_index(TOY_OUTPUT, 3, 4)] = 5.0f;
    lh_vector_facts facts = lh_diagnose_vector(&lh_toy_spec, 4, vector); /* 4: bytes of float */
    assert_int_equal(facts.tensor_count, TOY_TENSORS - 1);               /* the constant table is not learned */
    assert_int_equal(facts.nonfinite_count, 0);
    assert_int_equal(facts.first_nonfinite, -1);
    assert_int_equal(facts.largest_tensor, TOY_TOKEN);
    assert_true(facts.magnitude == 7.0);
}

/* The tensors query, key and value share rows of memory. A NaN in one of them is not reported for the others. */
static void test_nan_is_reported_for_its_own_tensor(void **state) {
    vector[find_index(TOY_KEY, 0, 0)] = NAN;
    vector[find_index(TOY_KEY, 3, 3)] = INFINITY;
    vector[find_index(TOY_BIAS, 0, 4)] = -INFINITY;
    vector[find_index(TOY_VALUE, 1, 1)] = 2.0f;
    lh_vector_facts facts = lh_diagnose_vector(&lh_toy_spec, 4, vector); /* 4: bytes of float */
    assert_int_equal(facts.nonfinite_count, 2);
    assert_int_equal(facts.first_nonfinite, TOY_KEY);
    assert_int_equal(facts.first_elements, 2);
    assert_int_equal(facts.last_nonfinite, TOY_BIAS);
    assert_int_equal(facts.last_elements, 1);
    assert_int_equal(facts.largest_tensor, TOY_VALUE);
}

static void test_gaps_between_tensors_are_ignored(void **state) {
    double_vector[find_index(TOY_TOKEN, 7, 0)] = NAN; /* element after the last row */
    double_vector[find_index(TOY_POSITION, 2, 2)] = NAN;
    double_vector[find_index(TOY_SCALE, 0, 3)] = 1e300;
    lh_vector_facts facts = lh_diagnose_vector(&lh_toy_spec, 8, double_vector); /* 8: bytes of double */
    assert_int_equal(facts.nonfinite_count, 0);
    assert_int_equal(facts.largest_tensor, TOY_SCALE);
    assert_true(facts.magnitude == 1e300);
}

static void test_vector_of_zeros_names_no_tensor(void **state) {
    lh_vector_facts facts = lh_diagnose_vector(&lh_toy_spec, 4, vector); /* 4: bytes of float */
    assert_int_equal(facts.largest_tensor, -1);
}

/* Two rows of the output tensor are in the first chunk, two in the second. */
static void test_tensors_of_a_chunk_are_named(void **state) {
    char text[200];
    lh_diagnose_chunk(&lh_toy_spec, 0, text, sizeof text);
    assert_string_equal(text, "embed.token.weight, layers.0.attention.query.weight, layers.0.attention.key.weight "
                              "and 3 more");
    lh_diagnose_chunk(&lh_toy_spec, 1, text, sizeof text);
    assert_string_equal(text, "output.weight, output.bias");
    lh_diagnose_chunk(&lh_toy_spec, 1, text, 8);
    assert_string_equal(text, "output.");
}

static void test_step_message_names_tensors(void **state) {
    static float gradient[TOY_STORAGE];
    lh_error error;
    lh_fail(&error, LH_ERR_INPUT, "step 3: the loss is nan");
    vector[find_index(TOY_QUERY, 1, 0)] = -2.5e4f;
    memset(gradient, 0, sizeof gradient);
    for (int64_t i = 0; i < 28; i++) gradient[find_index(TOY_TOKEN, i / 4, i % 4)] = NAN;
    gradient[find_index(TOY_QUERY, 2, 2)] = INFINITY;
    gradient[find_index(TOY_OUTPUT, 2, 2)] = 12.0f;
    lh_diagnose_step(&error, &lh_toy_spec, 4, vector, gradient, 9);
    assert_string_equal(
        error.text,
        "step 3: the loss is nan\n"
        "  task length 9\n"
        "  parameters: every element is finite, the largest is 2.5e+04 in layers.0.attention.query.weight\n"
        "  gradient: NaN or infinite in 2 of 7 tensors; the first is embed.token.weight (28 of 28 elements), "
        "the last is layers.0.attention.query.weight (1 of 16 elements); the largest finite element is 12 in "
        "output.weight");
}

/* Every element is finite, but the norm is not. */
static void test_step_message_names_the_element_whose_square_overflows(void **state) {
    lh_error error;
    lh_fail(&error, LH_ERR_INPUT, "step 3: the gradient's norm is inf");
    vector[find_index(TOY_BIAS, 0, 2)] = 2e19f;
    lh_diagnose_step(&error, &lh_toy_spec, 4, vector, vector, 1);
    assert_non_null(strstr(error.text, "gradient: every element is finite, the largest is 2e+19 in output.bias; "
                                       "the square of this element is too large for this precision"));
}

static void test_step_message_names_parameters_if_there_is_no_gradient(void **state) {
    lh_error error;
    lh_fail(&error, LH_ERR_INPUT, "step 3");
    vector[find_index(TOY_BIAS, 0, 2)] = NAN;
    lh_diagnose_step(&error, &lh_toy_spec, 4, vector, NULL, 1);
    assert_string_equal(error.text,
                        "step 3\n  task length 1\n  parameters: NaN or infinite in 1 of 7 tensors; the first "
                        "is output.bias (1 of 5 elements)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_vector_of_finite_values_names_the_largest, clear),
        cmocka_unit_test_setup(test_nan_is_reported_for_its_own_tensor, clear),
        cmocka_unit_test_setup(test_gaps_between_tensors_are_ignored, clear),
        cmocka_unit_test_setup(test_vector_of_zeros_names_no_tensor, clear),
        cmocka_unit_test_setup(test_tensors_of_a_chunk_are_named, clear),
        cmocka_unit_test_setup(test_step_message_names_tensors, clear),
        cmocka_unit_test_setup(test_step_message_names_the_element_whose_square_overflows, clear),
        cmocka_unit_test_setup(test_step_message_names_parameters_if_there_is_no_gradient, clear),
    };
    return cmocka_run_group_tests_name("diagnose", tests, NULL, NULL);
}
