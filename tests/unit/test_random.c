/* Generated CPU code of random networks (tests/support/random_specs.lua) against kernels/ref, which has nothing of it
 * but the description: values and gradients of every parameter, on every instruction-set level that runs here.
 * LH_RANDOM_SPECS: X(id) for each of them.
 */
#include "support/lh_test.h"

#include <stdlib.h>

#include "base/level.h"
#include "support/lh_parity.h"

#define X(id) extern const lh_spec longhand_spec_##id;
LH_RANDOM_SPECS
#undef X

#define X(id) &longhand_spec_##id,
static const lh_spec *const SPECS[] = {LH_RANDOM_SPECS};
#undef X

enum { SPEC_COUNT = sizeof SPECS / sizeof *SPECS, FIRST_EXAMPLE = 1000 };

static void check_evaluation(const lh_parity_case *c, const lh_cpu_program *program, lh_ref_model *model,
                             lh_parity_batch *made) {
    size_t count = (size_t)(made->batch.sequences * made->batch.labels * c->spec->classes);
    double *want = lh_parity_reserve(count * sizeof *want), *got = lh_parity_reserve(count * sizeof *got);
    lh_ref_batch batch = made->batch;
    batch.dropping = LH_REF_NO_DROPOUT;
    batch.backward = false;
    lh_ref_run(model, &batch, want);
    lh_trainer t = lh_trainer_open(c->spec, program, model, &batch, made->drawn, LH_MODE_EVALUATE);
    lh_trainer_run(&t, &batch, made->mask, 2, got);
    lh_parity_check_logits(program->real_bytes, got, want, count, lh_parity_random_tolerance.logits);
    lh_trainer_close(&t);
    free(want);
    free(got);
}

static void check_training(const lh_parity_case *c, const lh_cpu_program *program, lh_ref_model *model,
                           lh_parity_batch *made) {
    double want = lh_parity_run(model, made, NULL);
    for (int most = 1; most <= LH_PARITY_SEQUENCES; most += 2) {
        lh_trainer t = lh_trainer_open(c->spec, program, model, &made->batch, made->drawn, LH_MODE_TRAIN);
        lh_trainer_run(&t, &made->batch, made->mask, most, NULL);
        lh_assert_close(&t.sums.loss, &want, 1, lh_parity_random_tolerance.loss, 0);
        lh_parity_check_gradients(c->spec, program->real_bytes, t.gradient, model, lh_parity_random_tolerance.gradient);
        lh_trainer_close(&t);
    }
}

static void check_at(const lh_parity_case *c, const lh_cpu_program *program, lh_ref_model *model, int tokens,
                     int labels) {
    lh_parity_batch made;
    lh_parity_make_batch(c, tokens, labels, FIRST_EXAMPLE, &made);
    check_evaluation(c, program, model, &made);
    check_training(c, program, model, &made);
}

static void test_random_networks_match_reference(void **state) {
    (void)state;
    for (int i = 0; i < SPEC_COUNT; i++) {
        lh_ref_model *model = lh_parity_random_model(SPECS[i]);
        lh_parity_case c = lh_parity_random_case(SPECS[i]);
        for (const lh_cpu_program *const *program = SPECS[i]->cpu; *program; program++) {
            if (!lh_level_runs((*program)->level)) continue;
            print_message("           %s on %s\n", SPECS[i]->id, (*program)->level);
            check_at(&c, *program, model, 1, 1);
            check_at(&c, *program, model, 10, 5);
            check_at(&c, *program, model, 17, 17);
        }
        lh_ref_model_free(model);
    }
}

static void test_random_networks_take_the_memory_of_their_plans(void **state) {
    (void)state;
    for (int i = 0; i < SPEC_COUNT; i++) lh_parity_check_memory(SPECS[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_networks_take_the_memory_of_their_plans),
        cmocka_unit_test(test_random_networks_match_reference),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
