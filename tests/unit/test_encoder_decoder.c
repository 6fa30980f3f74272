/* Generated encoder-decoders (tests/specs/parity_float64_{encoder_decoder,identity_encoder,masks,lines}.lua) against kernels/ref:
 * values and gradients of every parameter, sources and targets of different lengths, in blocks of several sizes. And
 * both, with positions that are drawn for either stream, too, against the stored vectors of an independent
 * implementation. */
#include "support/lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/level.h"
#include "reference/pairs.h"
#include "support/lh_parity.h"

extern const lh_spec longhand_spec_parity_float64_encoder_decoder, longhand_spec_parity_float64_identity_encoder,
    longhand_spec_parity_float64_drawn_layers, longhand_spec_parity_float64_masks, longhand_spec_parity_float64_lines;

static const lh_spec *const SPECS[] = {&longhand_spec_parity_float64_encoder_decoder,
                                       &longhand_spec_parity_float64_identity_encoder,
                                       &longhand_spec_parity_float64_masks, &longhand_spec_parity_float64_lines};

enum { SPEC_COUNT = sizeof SPECS / sizeof *SPECS, FIRST_EXAMPLE = 1000 };

static void check_evaluation(const lh_spec *spec, const lh_cpu_program *program, lh_ref_model *model,
                             lh_parity_batch *made) {
    size_t count = (size_t)(LH_PARITY_SEQUENCES * made->batch.labels * spec->classes);
    double *want = lh_parity_reserve(count * sizeof *want), *got = lh_parity_reserve(count * sizeof *got);
    lh_ref_batch batch = made->batch;
    batch.dropping = LH_REF_NO_DROPOUT;
    batch.backward = false;
    lh_ref_run(model, &batch, want);
    lh_trainer t = lh_trainer_open(spec, program, model, &batch, NULL, LH_MODE_EVALUATE);
    lh_trainer_run(&t, &batch, made->mask, 2, got);
    lh_parity_check_logits(program->real_bytes, got, want, count, lh_parity_random_tolerance.logits);
    lh_trainer_close(&t);
    free(want);
    free(got);
}

static void check_training(const lh_spec *spec, const lh_cpu_program *program, lh_ref_model *model,
                           lh_parity_batch *made) {
    double want = lh_parity_run(model, made, NULL);
    for (int most = 1; most <= LH_PARITY_SEQUENCES; most += 2) {
        lh_trainer t = lh_trainer_open(spec, program, model, &made->batch, NULL, LH_MODE_TRAIN);
        lh_trainer_run(&t, &made->batch, made->mask, most, NULL);
        lh_assert_close(&t.sums.loss, &want, 1, lh_parity_random_tolerance.loss, 0);
        lh_parity_check_gradients(spec, program->real_bytes, t.gradient, model, lh_parity_random_tolerance.gradient);
        lh_trainer_close(&t);
    }
}

static void test_encoder_decoders_match_reference(void **state) {
    (void)state;
    static const lh_parity_size sizes[] = {{1, 1, 1}, {5, 12, 12}, {19, 2, 3}, {2, 19, 19}, {9, 5, 8}, {16, 16, 16}};
    for (int i = 0; i < SPEC_COUNT; i++) {
        lh_ref_model *model = lh_parity_random_model(SPECS[i]);
        lh_parity_case about = lh_parity_random_case(SPECS[i]);
        for (const lh_cpu_program *const *program = SPECS[i]->cpu; *program; program++) {
            if (!lh_level_runs((*program)->level)) continue;
            print_message("           %s on %s\n", SPECS[i]->id, (*program)->level);
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                lh_parity_batch made;
                lh_parity_make_batch(&about, sizes[s], FIRST_EXAMPLE, &made);
                check_evaluation(SPECS[i], *program, model, &made);
                check_training(SPECS[i], *program, model, &made);
            }
        }
        lh_ref_model_free(model);
    }
}

/* ---- stored vectors ---- */

/* In the order of lh_pairs_name. */
static const lh_spec *const STORED[LH_PAIRS_FILES] = {&longhand_spec_parity_float64_encoder_decoder,
                                                      &longhand_spec_parity_float64_identity_encoder,
                                                      &longhand_spec_parity_float64_drawn_layers};

/* Dropout is off where the vectors are; nothing of it is in an evaluation. */
static void check_stored(const lh_spec *spec, const lh_st_file *file, lh_ref_model *model, int n) {
    lh_pairs_case stored;
    lh_pairs_case_read(file, model->network, n, &stored);
    size_t count = (size_t)(stored.batch.sequences * stored.batch.labels * spec->classes);
    double *logits = lh_parity_reserve(count * sizeof *logits), bound = lh_parity_tolerance_of(8)->logits;
    lh_ref_model_clear(model);
    double loss = lh_ref_run(model, &stored.batch, logits) * stored.batch.loss_scale;
    lh_assert_close(&loss, &stored.loss, 1, bound, 0);
    lh_parity_check_logits(8, logits, stored.logits, count, bound);
    for (const lh_cpu_program *const *program = spec->cpu; *program; program++) {
        if (!lh_level_runs((*program)->level)) continue;
        static const uint8_t all[LH_PARITY_SEQUENCES * LH_PARITY_LONGEST] = {0};
        lh_trainer t = lh_trainer_open(spec, *program, model, &stored.batch, NULL, LH_MODE_EVALUATE);
        memcpy(t.step.positions, stored.positions, sizeof t.step.positions);
        memcpy(t.step.distances, stored.distances, sizeof t.step.distances);
        (*program)->begin_step(&t.step, 0, 1);
        lh_trainer_run(&t, &stored.batch, all, 2, logits);
        lh_parity_check_logits(8, logits, stored.logits, count, bound);
        lh_trainer_close(&t);
    }
    lh_pairs_case_free(&stored);
    free(logits);
}

/* The model's gradients behind lh_ref_run against the stored ones, which are rounded to float32. */
static void check_stored_gradients(const lh_st_file *file, const lh_ref_model *model) {
    for (int i = 0; i < model->tensor_count; i++) {
        const lh_ref_tensor *tensor = &model->tensors[i];
        char name[80];
        int count = 0;
        snprintf(name, sizeof name, "gradient.%s", tensor->name);
        double *want = lh_vectors_doubles(file, name, &count);
        assert_non_null(want);
        lh_assert_close(tensor->gradient, want, (size_t)count, 1.2e-7, 1e-12);
        free(want);
    }
}

static void test_encoder_decoders_match_stored_vectors(void **state) {
    (void)state;
    for (int i = 0; i < LH_PAIRS_FILES; i++) {
        print_message("           %s\n", STORED[i]->id);
        lh_st_file *file = lh_vectors_open(lh_pairs_name[i]);
        lh_ref_model *model = lh_pairs_model(file, lh_network_of(STORED[i]->id));
        for (int l = 0; l < LH_PAIRS_LENGTHS; l++) check_stored(STORED[i], file, model, lh_pairs_length[l]);
        check_stored_gradients(file, model); /* of the last */
        lh_ref_model_free(model);
        lh_st_free(file);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoder_decoders_match_stored_vectors),
        cmocka_unit_test(test_encoder_decoders_match_reference),
    };
    return cmocka_run_group_tests_name("encoder_decoder", tests, NULL, NULL);
}
