/* See device_parity.h. */
#include "device_parity.h"

#include <stdlib.h>
#include <string.h>

#include "support/lh_test.h"

/* The inputs of a step or an evaluation, as kernels read them. */
typedef struct inputs {
    lh_cuda_step step;
    void *tables;
    int *draws;
} inputs;

/* rate: the learning rate of a step, or the deviation of an evaluation's noise. */
static inputs open_inputs(const lh_device_model *m, const lh_device_batch *d, double rate) {
    const lh_ref_batch *batch = &d->batch;
    const lh_shape shape = {batch->sequences, {batch->tokens, batch->target_tokens}, batch->labels};
    int32_t *const token_positions[LH_MAX_STREAMS] = {d->token_positions};
    inputs in = {.tables = lh_model_make_tables(m->spec, &shape),
                 .draws =
                     lh_model_make_draws(m->spec, (lh_cuda_passes){batch->passes, batch->free_passes}, NULL, &shape,
                                         batch->positions, d->distances, d->token_positions ? token_positions : NULL)};
    if (batch->position_rows > 1)
        memcpy(in.draws, batch->positions, (size_t)(batch->position_rows * batch->tokens) * sizeof *in.draws);
    in.step = (lh_cuda_step){.tokens = {batch->token, batch->target},
                             .labels = batch->label,
                             .mask = d->mask,
                             .place = batch->place,
                             .draws = in.draws,
                             .sequences = batch->sequences,
                             .T = {batch->tokens, batch->target_tokens},
                             .label_count = batch->labels,
                             .step = batch->step,
                             .draw = batch->draw,
                             .key = {batch->key.word[0], batch->key.word[1]},
                             .rate = rate,
                             .correct2 = 1000,
                             .loss_scale = batch->loss_scale};
    return in;
}

static void close_inputs(inputs *in) {
    free(in->tables);
    free(in->draws);
}

static void check_loss(const lh_device_model *m, double loss, double expected) {
    lh_assert_close(&loss, &expected, 1, m->tolerance->loss, 0);
}

static lh_parity_counts count_parity(const lh_device_model *m, const lh_device_batch *d) {
    return lh_parity_count(&d->batch, m->spec, d->logits, d->mask);
}

void lh_device_check_evaluation(const lh_device_model *m, const lh_device_batch *d, lh_model_cut cut) {
    size_t count = (size_t)(d->batch.sequences * d->batch.labels * m->spec->classes);
    void *logits = lh_model_reserve(count * (size_t)m->real_bytes);
    lh_cuda_loop_answer answers[LH_PARITY_SEQUENCES];
    inputs in = open_inputs(m, d, d->batch.noise);
    lh_model_evaluate(m->spec, m->parameters, in.tables, &in.step, cut.team, cut.shards, cut.order, answers, logits);
    lh_parity_check_values(m->real_bytes, logits, d->logits, count, m->tolerance->logits);
    lh_parity_counts expected = count_parity(m, d), actual = {0, 0, 0, 0, 0};
    double loss = 0, uncertainty = 0;
    actual.positions = expected.positions;
    for (int b = 0; b < d->batch.sequences; b++) {
        loss += answers[b].loss;
        uncertainty += answers[b].uncertainty;
        actual.counted += answers[b].counted;
        actual.correct += answers[b].correct;
        bool has_answer = m->spec->task->loss == LH_LOSS_UNMASKED || answers[b].counted > 0;
        actual.sequences += has_answer;
        actual.exact += has_answer && answers[b].correct == answers[b].counted;
    }
    check_loss(m, loss, d->loss);
    if (m->spec->passes > 0)
        check_loss(m, uncertainty, lh_parity_sum_uncertainty(&d->batch, m->spec, d->logits, d->mask));
    assert_memory_equal(&actual, &expected, sizeof actual);
    close_inputs(&in);
    free(logits);
}

void lh_device_check_training(const lh_device_model *m, const lh_device_batch *d, lh_model_cut cut, double tolerance) {
    inputs in = open_inputs(m, d, 1e-3);
    lh_model_step actual = lh_model_train(m->spec, m->parameters, in.tables, &in.step, cut, 1, NULL);
    lh_parity_counts expected = count_parity(m, d);
    assert_int_equal(actual.result.state, LH_CUDA_DONE);
    check_loss(m, actual.result.sums.loss, d->loss);
    assert_int_equal(actual.result.sums.counted, expected.counted);
    assert_int_equal(actual.result.sums.correct, expected.correct);
    assert_int_equal(actual.result.sums.exact_ones, expected.exact);
    lh_parity_check_gradients(m->spec, m->real_bytes, actual.gradient, m->reference, tolerance);
    lh_model_step_free(&actual);
    close_inputs(&in);
}

/* Returns the number of labels in the loss. The gradient of a step is that of the mean over these labels, although its
 * shards divide by the number of all labels. */
static int64_t count_labels(const lh_parity_batch *data) {
    int64_t counted = 0;
    for (int i = 0; i < data->batch.sequences * data->batch.labels; i++) counted += data->mask[i];
    return counted;
}

void lh_device_check_batch(lh_device_model *m, lh_parity_batch *data, lh_model_cut cut) {
    double *logits =
        lh_parity_reserve(sizeof data->label / sizeof *data->label * (size_t)m->spec->classes * sizeof *logits);
    double shard_scale = data->batch.loss_scale;
    if (data->batch.mask) data->batch.loss_scale = 1.0 / (double)count_labels(data);
    double loss = lh_parity_run(m->reference, data, logits);
    data->batch.loss_scale = shard_scale;
    lh_device_batch d = {data->batch, data->sampled_distances, NULL, data->mask, logits, loss};
    bool has_memory = data->batch.passes <= m->spec->passes; /* training has no memory for more passes */
    if (has_memory) lh_device_check_training(m, &d, cut, m->tolerance->gradient);
    lh_parity_make_evaluation(m->spec, &d.batch);
    d.loss = lh_ref_run(m->reference, &d.batch, logits);
    lh_device_check_evaluation(m, &d, cut);
    free(logits);
}

void lh_device_check_passes(lh_device_model *m, lh_parity_size size, int passes, lh_model_cut cut) {
    lh_parity_batch data;
    lh_parity_make_batch(m->parity_case, size, 0, &data);
    data.batch.passes = passes;
    /* Leaves one or two passes with gradient. */
    if (m->spec->progressive && passes > 1) data.batch.free_passes = passes - 1 - passes % 2;
    lh_device_check_batch(m, &data, cut);
}

void lh_device_check_size(lh_device_model *m, lh_parity_size size, lh_model_cut cut) {
    lh_device_check_passes(m, size, m->spec->passes, cut);
}
