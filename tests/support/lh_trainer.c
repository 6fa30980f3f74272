/* See lh_trainer.h. */
#include "lh_trainer.h"

#include <stdlib.h>
#include <string.h>

#include "lh_test.h"

lh_trainer lh_trainer_open(const lh_spec *spec, const lh_cpu_program *program, const lh_ref_model *model,
                           const lh_ref_batch *batch, const int32_t *distances, lh_mode mode) {
    lh_trainer t = {.spec = spec, .program = program};
    lh_shape shape = {
        .sequences = batch->sequences, .length = {batch->tokens, batch->target_tokens}, .labels = batch->labels};
    t.parameters = lh_parity_reserve((size_t)spec->parameter_storage * (size_t)program->real_bytes);
    t.gradient = lh_parity_reserve((size_t)spec->parameter_storage * (size_t)program->real_bytes);
    t.tables = lh_parity_reserve(program->tables_bytes ? program->tables_bytes(shape.length) : 0);
    if (program->make_tables) program->make_tables(t.tables, shape.length);
    t.workspace = lh_parity_reserve(program->workspace_bytes(&shape, mode));
    lh_parity_write_parameters(spec, program->real_bytes, model, t.parameters);
    t.step = (lh_cpu_step){.mode = mode,
                           .shape = shape,
                           .key = batch->key,
                           .step = batch->step,
                           .draw = {.key = batch->key, .step = batch->step, .example = batch->draw},
                           .passes = batch->passes,
                           .free_passes = mode == LH_MODE_TRAIN ? batch->free_passes : 0,
                           .noise = batch->noise,
                           .positions = {batch->positions},
                           .distances = {distances},
                           .parameters = t.parameters,
                           .tables = t.tables,
                           .shared = lh_parity_reserve(program->shared_bytes(&shape))};
    for (int part_index = 0; part_index < 3; part_index++) program->begin_step(&t.step, part_index, 3);
    return t;
}

void lh_trainer_close(lh_trainer *t) {
    free(t->parameters);
    free(t->gradient);
    free(t->tables);
    free(t->workspace);
    free(t->step.shared);
}

void lh_trainer_run(lh_trainer *t, const lh_ref_batch *batch, const uint8_t *mask, int max_sequences, void *logits) {
    int block_limit = t->program->block_sequences(t->step.shape.length);
    bool is_training = t->step.mode == LH_MODE_TRAIN;
    if (max_sequences > block_limit) max_sequences = block_limit;
    if (is_training && t->program->begin_shard) t->program->begin_shard(&t->step, t->workspace);
    for (int first = 0; first < batch->sequences; first += max_sequences) {
        int labels = first * batch->labels, count = batch->sequences - first;
        lh_cpu_block block = {.sequences = count < max_sequences ? count : max_sequences,
                              .first_example = batch->first_example + (uint32_t)first,
                              .tokens = {batch->token + first * batch->tokens,
                                         batch->target ? batch->target + first * batch->target_tokens : NULL},
                              .positions = {t->positions ? t->positions + first * batch->tokens : NULL},
                              .labels = batch->label + labels,
                              .mask = mask + labels,
                              .place = batch->place ? batch->place + labels : NULL,
                              .loss_scale = batch->loss_scale};
        if (is_training) {
            t->program->train_block(&t->step, &block, t->workspace, t->gradient, &t->sums);
        } else {
            lh_sums sequence_sums[LH_PARITY_SEQUENCES];
            if (t->spec->passes > 0) block.sequence_sums = sequence_sums;
            block.logits = (char *)logits + (size_t)(labels * t->spec->classes * t->program->real_bytes);
            t->program->forward_block(&t->step, &block, t->workspace, &t->sums);
            for (int s = 0; block.sequence_sums != NULL && s < block.sequences; s++)
                t->uncertainty += sequence_sums[s].uncertainty;
        }
    }
    if (is_training && t->program->end_shard) t->program->end_shard(&t->step, t->workspace, t->gradient);
}

lh_draw lh_trainer_make_draw(lh_mode mode) {
    lh_key key = lh_key_of_seed(11);
    if (mode == LH_MODE_TRAIN)
        return (lh_draw){.key = key, .step = 77, .example = LH_SHARED, .domain = LH_DOMAIN_POSITIONS};
    return (lh_draw){.key = key, .step = 77, .example = LH_PARITY_DRAW, .domain = LH_DOMAIN_EVAL};
}

lh_trainer lh_trainer_open_sampling(const lh_spec *spec, const lh_ref_model *model, const lh_ref_batch *batch,
                                    lh_mode mode, const int32_t *const positions[LH_MAX_STREAMS],
                                    const int32_t *const distances[LH_MAX_STREAMS]) {
    lh_trainer t = lh_trainer_open(spec, spec->cpu[0], model, batch, NULL, mode);
    t.step.draw = lh_trainer_make_draw(mode);
    memcpy(t.step.positions, positions, sizeof t.step.positions);
    memcpy(t.step.distances, distances, sizeof t.step.distances);
    for (int part_index = 0; part_index < 3; part_index++) t.program->begin_step(&t.step, part_index, 3);
    return t;
}

/* Checks the sum of -log of the greatest probability, which programs of models with loops compute in evaluation, both
 * over the whole batch and over single sequences. */
static void check_uncertainty(const lh_trainer *t, const lh_ref_batch *batch, const uint8_t *mask, const double *logits,
                              double tolerance) {
    double expected = lh_parity_sum_uncertainty(batch, t->spec, logits, mask);
    lh_assert_close(&t->sums.uncertainty, &expected, 1, tolerance, 0);
    lh_assert_close(&t->uncertainty, &expected, 1, tolerance, 0);
}

void lh_trainer_check(lh_trainer *t, const lh_ref_batch *batch, const uint8_t *mask, int max_sequences,
                      const lh_ref_model *model, double loss, const double *logits,
                      const lh_parity_tolerance *tolerance) {
    size_t count = (size_t)(batch->sequences * batch->labels * t->spec->classes);
    void *actual = lh_parity_reserve(count * (size_t)t->program->real_bytes);
    lh_trainer_run(t, batch, mask, max_sequences, actual);
    lh_assert_close(&t->sums.loss, &loss, 1, tolerance->loss, 0);
    if (t->step.mode == LH_MODE_EVALUATE)
        lh_parity_check_values(t->program->real_bytes, actual, logits, count, tolerance->logits);
    else lh_parity_check_gradients(t->spec, t->program->real_bytes, t->gradient, model, tolerance->gradient);
    if (t->step.mode == LH_MODE_EVALUATE && t->spec->passes > 0)
        check_uncertainty(t, batch, mask, logits, tolerance->loss);
    free(actual);
}

void lh_trainer_check_passes(const lh_parity_case *c, const lh_cpu_program *program, lh_ref_model *model,
                             lh_parity_size size, int passes) {
    enum { FIRST_EXAMPLE = 1000 };
    lh_parity_batch data;
    lh_parity_make_batch(c, size, FIRST_EXAMPLE, &data);
    data.batch.passes = passes;
    lh_ref_batch evaluation = data.batch;
    double *logits = lh_parity_reserve((size_t)(evaluation.sequences * evaluation.labels * c->spec->classes) * 8);
    lh_parity_make_evaluation(c->spec, &evaluation);
    double loss = lh_ref_run(model, &evaluation, logits);
    lh_trainer t = lh_trainer_open(c->spec, program, model, &evaluation, data.sampled_distances, LH_MODE_EVALUATE);
    lh_trainer_check(&t, &evaluation, data.mask, 2, model, loss, logits, &lh_parity_random_tolerance);
    lh_trainer_close(&t);
    free(logits);
    if (passes > c->spec->passes) return; /* training has no memory for more passes */
    /* the greatest odd number below `passes` */
    if (c->spec->progressive && passes > 1) data.batch.free_passes = passes - 1 - passes % 2;
    loss = lh_parity_run(model, &data, NULL);
    for (int max_sequences = 1; max_sequences <= LH_PARITY_SEQUENCES; max_sequences += 2) {
        t = lh_trainer_open(c->spec, program, model, &data.batch, data.sampled_distances, LH_MODE_TRAIN);
        lh_trainer_check(&t, &data.batch, data.mask, max_sequences, model, loss, NULL, &lh_parity_random_tolerance);
        lh_trainer_close(&t);
    }
}

void lh_trainer_check_size(const lh_parity_case *c, const lh_cpu_program *program, lh_ref_model *model,
                           lh_parity_size size) {
    lh_trainer_check_passes(c, program, model, size, c->spec->passes);
}
