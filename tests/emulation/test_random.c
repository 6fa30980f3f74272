/* Device code of random networks (tests/support/random_specs.lua) in the emulation against kernels/ref: logits, loss and
 * the gradient of every parameter, with dropout in training. Those among them that there is device code for; one has no
 * other neighbours than in its own description. LH_RANDOM_SPECS: X(id) for each of them.
 */
#include "support/lh_test.h"

#include <stdlib.h>

#include "device_parity.h"

#define X(id) extern const lh_spec longhand_spec_##id;
LH_RANDOM_SPECS
#undef X

#define X(id) &longhand_spec_##id,
static const lh_spec *const SPECS[] = {LH_RANDOM_SPECS};
#undef X

enum { SPEC_COUNT = sizeof SPECS / sizeof *SPECS };

/* With weights of its own; about outlives it. */
static lh_device_model open_model(const lh_parity_case *about) {
    lh_device_model m = {.about = about,
                         .spec = about->spec,
                         .real_bytes = about->spec->cuda->real_bytes,
                         .reference = lh_parity_random_model(about->spec),
                         .tolerance = &lh_parity_random_tolerance};
    m.parameters = lh_model_reserve((size_t)m.spec->parameter_storage * (size_t)m.real_bytes);
    lh_parity_load(m.spec, m.real_bytes, m.reference, m.parameters);
    return m;
}

static void close_model(lh_device_model *m) {
    free(m->parameters);
    lh_ref_model_free(m->reference);
}

static void test_device_code_of_random_networks_matches_reference(void **state) {
    (void)state;
    for (int i = 0; i < SPEC_COUNT; i++) {
        print_message("           %s\n", SPECS[i]->id);
        lh_parity_case about = lh_parity_random_case(SPECS[i]);
        lh_device_model m = open_model(&about);
        lh_device_check_at(&m, 1, 1, (lh_model_cut){1, 1, 0});
        lh_device_check_at(&m, 10, 5, (lh_model_cut){4, 3, 2});
        lh_device_check_at(&m, 17, 17, (lh_model_cut){3, 2, 3});
        close_model(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_code_of_random_networks_matches_reference),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
