/* Generated CPU code of random networks (tests/support/random_specs.lua) compared with kernels/ref, which shares only
 * the description: values and gradients of every parameter, at every instruction-set level of this machine; decoders
 * token by token; and the memory of their plans.
 * LH_RANDOM_SPECS: X(id) for each of their specs.
 */
#include "support/lh_test.h"

#include <stdlib.h>

#include "base/cpu_level.h"
#include "support/lh_decoding.h"
#include "support/lh_parity.h"

#define X(id) extern const lh_spec longhand_spec_##id;
LH_RANDOM_SPECS
#undef X

enum { FIRST_EXAMPLE = 1000 };

static void check_evaluation(const lh_parity_case *c, const lh_cpu_program *program, lh_ref_model *model,
                             lh_parity_batch *data) {
    size_t count = (size_t)(data->batch.sequences * data->batch.labels * c->spec->classes);
    double *expected = lh_parity_reserve(count * sizeof *expected), *actual = lh_parity_reserve(count * sizeof *actual);
    lh_ref_batch batch = data->batch;
    lh_parity_evaluate(c->spec, &batch);
    lh_ref_run(model, &batch, expected);
    lh_trainer t = lh_trainer_open(c->spec, program, model, &batch, data->drawn, LH_MODE_EVALUATE);
    lh_trainer_run(&t, &batch, data->mask, 2, actual);
    lh_parity_check_logits(program->real_bytes, actual, expected, count, lh_parity_random_tolerance.logits);
    lh_trainer_close(&t);
    free(expected);
    free(actual);
}

static void check_training(const lh_parity_case *c, const lh_cpu_program *program, lh_ref_model *model,
                           lh_parity_batch *data) {
    double expected = lh_parity_run(model, data, NULL);
    for (int most = 1; most <= LH_PARITY_SEQUENCES; most += 2) {
        lh_trainer t = lh_trainer_open(c->spec, program, model, &data->batch, data->drawn, LH_MODE_TRAIN);
        lh_trainer_run(&t, &data->batch, data->mask, most, NULL);
        lh_assert_close(&t.sums.loss, &expected, 1, lh_parity_random_tolerance.loss, 0);
        lh_parity_check_gradients(c->spec, program->real_bytes, t.gradient, model, lh_parity_random_tolerance.gradient);
        lh_trainer_close(&t);
    }
}

static void check_size(const lh_parity_case *c, const lh_cpu_program *program, lh_ref_model *model,
                       lh_parity_size size) {
    lh_parity_batch data;
    lh_parity_make_batch(c, size, FIRST_EXAMPLE, &data);
    check_evaluation(c, program, model, &data);
    check_training(c, program, model, &data);
}

/* Decoders are also checked token by token. */
static void check_decoding(const lh_spec *spec, const lh_cpu_program *program) {
    static const int lengths[] = {1, 7, 18};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) lh_check_decoding(spec, program, lengths[i]);
}

static void test_network_matches_reference(void **state) {
    const lh_spec *spec = *state;
    lh_parity_check_memory(spec);
    lh_ref_model *model = lh_parity_random_model(spec);
    lh_parity_case c = lh_parity_random_case(spec);
    for (const lh_cpu_program *const *program = spec->cpu; *program; program++) {
        if (!lh_level_runs((*program)->level)) continue;
        print_message("           %s\n", (*program)->level);
        check_size(&c, *program, model, (lh_parity_size){1, 1, 2});
        check_size(&c, *program, model, (lh_parity_size){10, 5, 7});
        check_size(&c, *program, model, (lh_parity_size){18, 1, 3});
        check_size(&c, *program, model, (lh_parity_size){17, 17, 19});
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
