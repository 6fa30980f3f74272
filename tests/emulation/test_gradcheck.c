/* trainer gradcheck --device cuda for a generated model's device code, in the emulation. The linker sets lh_model to
 * the spec, in float64. Slow: tests/system/long_emulation.sh runs it. */
#include "support/lh_test.h"

#include <stdlib.h>

#include "support/lh_run.h"

extern const lh_spec lh_model;

static void test_gradients_of_every_tensor_match_differences(void **state) {
    static const unsigned char code[] = "compute_75";
    static const lh_cuda_image images[] = {{"compute_75", code, code + sizeof code - 1}, {NULL, NULL, NULL}};
    lh_cuda_program program = *lh_model.cuda;
    lh_spec spec = lh_model;
    spec.cuda = &program;
    program.images = images;
    program.toolkit = "13.0";
    if (program.launches == NULL) program.chip.shards = 4; /* a step has three sequences, and folding is slow here */
    const char *words = spec.task->sample == NULL ? "gradcheck --device cuda" /* examples have lengths of their own */
                                                  : "gradcheck --device cuda --lengths 5";
    lh_run_result result = lh_run_main(&spec, *state, words, NULL);
    if (result.code != 0) print_error("%s%s", result.out, result.err);
    assert_int_equal(result.code, 0);
}

int main(void) {
    setenv("LONGHAND_CUDA_DRIVER", LH_EMULATED_LIBRARY, 1);
    setenv("LONGHAND_CUBLASLT", LH_EMULATED_LIBRARY, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_gradients_of_every_tensor_match_differences, lh_test_make_directory,
                                        lh_test_remove_directory),
    };
    return cmocka_run_group_tests_name(lh_model.id, tests, NULL, NULL);
}
