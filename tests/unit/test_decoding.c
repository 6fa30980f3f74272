/* Generated decoders and encoder-decoders decode token by token with cached keys and values. The result must have
 * the bits of a pass over the whole sequence, at every compiled instruction-set level that this machine runs.
 * LH_DECODED_SPECS has X(id) for each tested spec. */
#include "support/lh_test.h"

#include "base/cpu_level.h"
#include "support/lh_decoding.h"

#define X(id) extern const lh_spec longhand_spec_##id;
LH_DECODED_SPECS
#undef X

static void test_decoding_has_the_bits_of_a_pass(void **state) {
    const lh_spec *spec = *state;
    for (const lh_cpu_program *const *program = spec->cpu; *program; program++) {
        if (!lh_level_is_supported((*program)->level)) continue;
        assert_non_null((*program)->decode_step);
        for (int n = 1; n <= 18; n += n < 4 ? 1 : 7) lh_check_decoding(spec, *program, n);
    }
}

int main(void) {
#define X(id) {#id, test_decoding_has_the_bits_of_a_pass, NULL, NULL, (void *)&longhand_spec_##id},
    const struct CMUnitTest tests[] = {LH_DECODED_SPECS};
#undef X
    return cmocka_run_group_tests_name("decoding", tests, NULL, NULL);
}
