/* Generated CPU code of random networks (tests/support/random_specs.lua) compared with kernels/ref. The two share
 * only the description of a network. The tests compare values and the gradients of every parameter, at every
 * compiled instruction-set level that this machine runs. Networks with loops run with several numbers of passes, and
 * decoders also token by token. The tests also check the memory of plans. LH_RANDOM_SPECS, from tests/tests.mk, has
 * X(id) for the spec of each network. */
#include "support/lh_test.h"

#include <math.h>

#include "base/cpu_level.h"
#include "support/lh_decoding.h"
#include "support/lh_trainer.h"

#define X(id) extern const lh_spec longhand_spec_##id;
LH_RANDOM_SPECS
#undef X

/* Decoders are also checked token by token. */
static void check_decoding(const lh_spec *spec, const lh_cpu_program *program) {
    static const int lengths[] = {1, 7, 18};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) lh_check_decoding(spec, program, lengths[i]);
}

static void test_network_matches_reference(void **state) {
    const lh_spec *spec = *state;
    lh_parity_check_memory(spec);
    lh_ref_model *model = lh_parity_make_random_model(spec);
    lh_parity_case c = lh_parity_make_random_case(spec);
    for (const lh_cpu_program *const *program = spec->cpu; *program; program++) {
        if (!lh_level_is_supported((*program)->level)) continue;
        print_message("           %s\n", (*program)->level);
        /* sizes: tokens, labels, and tokens of the target if there are two streams */
        lh_trainer_check_size(&c, *program, model, (lh_parity_size){1, 1, 2});
        lh_trainer_check_size(&c, *program, model, (lh_parity_size){10, 5, 7});
        lh_trainer_check_size(&c, *program, model, (lh_parity_size){18, 1, 3});
        lh_trainer_check_size(&c, *program, model, (lh_parity_size){17, 17, 19});
        for (int passes = 1; spec->passes > 0 && passes < 6; passes++)
            lh_trainer_check_passes(&c, *program, model, (lh_parity_size){17, 5, 7}, passes);
        if ((*program)->decode_step != NULL) check_decoding(spec, *program);
    }
    lh_ref_model_free(model);
}

/* Returns the largest difference between two models' gradients. */
static double compare_gradients(const lh_ref_model *a, const lh_ref_model *b) {
    double max_difference = 0;
    for (int i = 0; i < a->tensor_count; i++)
        for (int e = 0; e < a->tensors[i].rows * a->tensors[i].columns; e++)
            max_difference = fmax(max_difference, fabs(a->tensors[i].gradient[e] - b->tensors[i].gradient[e]));
    return max_difference;
}

/* Checks that the comparison above would notice wrong attention: each deliberate mistake in the reference changes
 * gradients by far more than the tolerance. mistakes: the number of mistakes, where mistake 0 is none; set: makes a
 * mistake. */
static void check_mistakes(const lh_spec *spec, int mistakes, void (*set)(lh_ref_family *family, int mistake)) {
    lh_ref_model *model = lh_parity_make_random_model(spec), *second_model = lh_parity_make_random_model(spec);
    lh_ref_network network = *model->network;
    lh_ref_family family = *network.families;
    lh_parity_case c = lh_parity_make_random_case(spec);
    static lh_parity_batch data;
    lh_parity_make_batch(&c, (lh_parity_size){18, 5, 1}, 0, &data);
    assert_int_equal(network.family_count, 1);
    lh_parity_run(model, &data, NULL);
    network.families = &family;
    second_model->network = &network;
    for (int mistake = 0; mistake < mistakes; mistake++) {
        set(&family, mistake);
        lh_parity_run(second_model, &data, NULL);
        double difference = compare_gradients(model, second_model);
        assert_true(mistake == 0 ? difference == 0 : difference > 1e-5);
    }
    lh_ref_model_free(model);
    lh_ref_model_free(second_model);
}

static void set_cope_mistake(lh_ref_family *family, int mistake) {
    family->cope_mistake = (lh_ref_cope_mistake)mistake;
}

static void test_mistakes_in_counts_are_noticed(void **state) {
    check_mistakes(&longhand_spec_parity_float64_cope, LH_REF_COPE_MISTAKES, set_cope_mistake);
}

static void set_sums_mistake(lh_ref_family *family, int mistake) {
    family->sums_mistake = (lh_ref_row_sums_mistake)mistake;
}

static void test_mistakes_in_sums_over_keys_are_noticed(void **state) {
    check_mistakes(&longhand_spec_parity_float64_row_sums, LH_REF_ROW_SUMS_MISTAKES, set_sums_mistake);
}

static void set_stick_mistake(lh_ref_family *family, int mistake) {
    family->stick_mistake = (lh_ref_stick_mistake)mistake;
}

static void test_mistakes_in_stick_breaking_are_noticed(void **state) {
    check_mistakes(&longhand_spec_parity_float64_stick_breaking, LH_REF_STICK_MISTAKES, set_stick_mistake);
}

static void set_grape_mistake(lh_ref_family *family, int mistake) {
    family->grape_mistake = (lh_ref_grape_mistake)mistake;
}

static void test_mistakes_in_gates_of_tokens_are_noticed(void **state) {
    check_mistakes(&longhand_spec_parity_float64_grape, LH_REF_GRAPE_MISTAKES, set_grape_mistake);
}

/* Checks that the comparison would notice if two layers had each other's windows. */
static void test_swapped_windows_of_layers_are_noticed(void **state) {
    const lh_spec *spec = &longhand_spec_parity_float64_layers;
    lh_ref_model *model = lh_parity_make_random_model(spec), *second_model = lh_parity_make_random_model(spec);
    lh_ref_network network = *model->network;
    lh_parity_case c = lh_parity_make_random_case(spec);
    static lh_parity_batch data;
    lh_parity_make_batch(&c, (lh_parity_size){18, 5, 1}, 0, &data);
    assert_int_equal(network.family_count, 2);
    lh_parity_run(model, &data, NULL);
    lh_ref_family windows[] = {network.families[0], network.families[1]};
    windows[0].left = network.families[1].left;
    windows[0].right = network.families[1].right;
    windows[1].left = network.families[0].left;
    windows[1].right = network.families[0].right;
    network.families = windows;
    second_model->network = &network;
    lh_parity_run(second_model, &data, NULL);
    assert_true(compare_gradients(model, second_model) > 1e-5);
    lh_ref_model_free(model);
    lh_ref_model_free(second_model);
}

int main(void) {
#define X(id) {#id, test_network_matches_reference, NULL, NULL, (void *)&longhand_spec_##id},
    const struct CMUnitTest tests[] = {LH_RANDOM_SPECS cmocka_unit_test(test_mistakes_in_counts_are_noticed),
                                       cmocka_unit_test(test_mistakes_in_sums_over_keys_are_noticed),
                                       cmocka_unit_test(test_mistakes_in_stick_breaking_are_noticed),
                                       cmocka_unit_test(test_mistakes_in_gates_of_tokens_are_noticed),
                                       cmocka_unit_test(test_swapped_windows_of_layers_are_noticed)};
#undef X
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
