/* Device code of random networks (tests/support/random_specs.lua) in the emulation, compared with kernels/ref: logits,
 * loss and the gradient of every parameter, with dropout in training. LH_RANDOM_SPECS: X(id) for each network with
 * device code.
 */
#include "support/lh_test.h"

#include <stdlib.h>

#include "device_parity.h"

#define X(id) extern const lh_spec longhand_spec_##id;
LH_RANDOM_SPECS
#undef X

/* Opens a model with random weights; parity_case must outlive the model. */
static lh_device_model open_model(const lh_parity_case *parity_case) {
    lh_device_model m = {.parity_case = parity_case,
                         .spec = parity_case->spec,
                         .real_bytes = parity_case->spec->cuda->real_bytes,
                         .reference = lh_parity_make_random_model(parity_case->spec),
                         .tolerance = &lh_parity_random_tolerance};
    m.parameters = lh_model_reserve((size_t)m.spec->parameter_storage * (size_t)m.real_bytes);
    lh_parity_write_parameters(m.spec, m.real_bytes, m.reference, m.parameters);
    return m;
}

static void close_model(lh_device_model *m) {
    free(m->parameters);
    lh_ref_model_free(m->reference);
}

static void test_device_code_matches_reference(void **state) {
    lh_parity_case parity_case = lh_parity_make_random_case(*state);
    lh_device_model m = open_model(&parity_case);
    lh_device_check_size(&m, (lh_parity_size){1, 1, 2}, (lh_model_cut){1, 1, 0});
    lh_device_check_size(&m, (lh_parity_size){10, 5, 7}, (lh_model_cut){4, 3, 2});
    lh_device_check_size(&m, (lh_parity_size){17, 17, 19}, (lh_model_cut){3, 2, 3});
    close_model(&m);
}

int main(void) {
#define X(id) {#id, test_device_code_matches_reference, NULL, NULL, (void *)&longhand_spec_##id},
    const struct CMUnitTest tests[] = {LH_RANDOM_SPECS};
#undef X
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
