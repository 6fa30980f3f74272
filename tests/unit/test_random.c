/* Generated CPU code of random networks (tests/support/random_specs.lua) compared with kernels/ref, which shares only
 * the description: values and gradients of every parameter, at every compiled instruction-set level that this machine
 * runs; networks with loops at several numbers of passes; decoders token by token; and the memory of their plans.
 * LH_RANDOM_SPECS, from tests/tests.mk, has X(id) for the spec of each network.
 */
#include "support/lh_test.h"

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
        if (!lh_level_runs((*program)->level)) continue;
        print_message("           %s\n", (*program)->level);
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

int main(void) {
#define X(id) {#id, test_network_matches_reference, NULL, NULL, (void *)&longhand_spec_##id},
    const struct CMUnitTest tests[] = {LH_RANDOM_SPECS};
#undef X
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
