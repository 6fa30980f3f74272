/* Masked labels that are not in the loss. The whole step of the CPU engine is compared with kernels/ref, which
 * divides by the counted labels of the batch. Cases: labels of all shards are masked, all labels of one shard, no
 * label, and all labels. */
#include "support/lh_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gradcheck.h"
#include "data/batch.h"
#include "engine/target.h"
#include "support/lh_engines.h"
#include "support/lh_parity.h"
#include "training/window.h"

extern const lh_spec longhand_spec_parity_float64_decoder_alibi;

lh_task_sample lh_task_stack_manipulation;

enum {
    SEQUENCES = LH_PARITY_SEQUENCES,
    SHARDS = 3,
    LENGTH = 9,
    FIRST_SHARD = 2 /* sequences of the first shard */,
    SEED = 4
};

static const double RATE = 1e-2;

/* Returns whether the sampler masks a label of an example of a step. */
static bool (*masks)(uint32_t example, uint32_t step, int label);

static void sample(lh_rng *rng, int n, lh_example *example) {
    uint32_t index = rng->counter[2], step = rng->counter[3];
    lh_task_stack_manipulation(rng, n, example);
    for (int i = 0; i < example->output_length; i++) example->mask[i] = !masks(index, step, i);
}

static bool mask_none(uint32_t example, uint32_t step, int label) { return false; }

static bool mask_first_shard(uint32_t example, uint32_t step, int label) { return example < FIRST_SHARD; }

static bool mask_some_labels(uint32_t example, uint32_t step, int label) {
    return (example * 7 + step + (uint32_t)label * 3) % 5 < 2;
}

static bool mask_all_of_third_step(uint32_t example, uint32_t step, int label) {
    return step == 2 || mask_some_labels(example, 0, label);
}

/* The generated program, and the number of calls of its function scale. */
static const lh_cpu_program *generated_program;
static int64_t scale_calls;

static void count_scale(void *gradient, double factor, size_t count) {
    scale_calls++;
    generated_program->scale(gradient, factor, count);
}

/* An engine for a task that masks labels. */
typedef struct masking_engine {
    lh_task task;
    lh_cpu_program program;
    const lh_cpu_program *list[2];
    lh_spec spec;
    lh_target target;
    lh_engine *engine;
} masking_engine;

/* Opens an engine. masks_label: the value of `masks`. */
static void open_masking(masking_engine *m, bool (*masks_label)(uint32_t, uint32_t, int)) {
    const lh_spec *spec = &longhand_spec_parity_float64_decoder_alibi;
    lh_error error = {""};
    masks = masks_label;
    generated_program = spec->cpu[0];
    scale_calls = 0;
    assert_non_null(generated_program->scale);
    m->task = *spec->task;
    m->task.sample = sample;
    m->program = *generated_program;
    m->program.scale = count_scale;
    m->list[0] = &m->program;
    m->list[1] = NULL;
    m->spec = *spec;
    m->spec.task = &m->task;
    m->spec.cpu = m->list;
    m->spec.train.batch = SEQUENCES;
    m->spec.train.shards = SHARDS;
    lh_assert_ok(lh_target_open(&m->target, &m->spec, "cpu", &error), &error);
    lh_engine_config config = {.spec = &m->target.spec,
                               .seed = SEED,
                               .learning_rate = RATE,
                               .threads = 2,
                               .trains = true,
                               .keeps_gradient = true,
                               .fixed_length = LENGTH};
    lh_assert_ok(lh_target_open_engines(&m->target, &config, 1, false, &m->engine, &error), &error);
}

static void close_masking(masking_engine *m) {
    m->engine->ops->close(m->engine);
    lh_target_close(&m->target);
}

static lh_step_metrics make_step(masking_engine *m) {
    lh_step_metrics metrics;
    lh_test_step(m->engine, 1, &metrics);
    return metrics;
}

/* Makes the batch of the first step, for the reference; returns its number of counted labels. */
static int64_t fill_batch(const masking_engine *m, lh_parity_batch *batch_data) {
    const lh_parity_case parity_case = {"decoder_alibi", &longhand_spec_parity_float64_decoder_alibi};
    lh_source source = {.key = lh_key_of_seed(SEED), .domain = LH_DOMAIN_DATA};
    lh_batch batch;
    lh_error error = {""};
    int64_t counted = 0;
    lh_assert_ok(lh_batch_open(&batch, &m->spec, LENGTH, SEQUENCES, &error), &error);
    lh_assert_ok(lh_batch_fill(&batch, &m->spec, &source, LENGTH, 0, SEQUENCES, &error), &error);
    int tokens = batch.shape.length[0], labels = batch.shape.labels;
    lh_parity_make_batch(&parity_case, (lh_parity_size){tokens, labels, 0}, 0, batch_data);
    memcpy(batch_data->token, batch.tokens[0], (size_t)(SEQUENCES * tokens) * sizeof *batch_data->token);
    memcpy(batch_data->label, batch.labels, (size_t)(SEQUENCES * labels) * sizeof *batch_data->label);
    memcpy(batch_data->mask, batch.mask, (size_t)(SEQUENCES * labels));
    for (int i = 0; i < SEQUENCES * labels; i++) counted += batch_data->mask[i];
    batch_data->batch.loss_scale = 1.0 / (double)counted;
    lh_batch_close(&batch);
    return counted;
}

/* Checks one step: loss, counts and gradient equal the reference's, for the mean over the counted labels.
 * sequences: the expected number of sequences with a counted label. */
static void check_step(bool (*masks_label)(uint32_t, uint32_t, int), int sequences) {
    masking_engine m;
    lh_parity_batch batch_data;
    lh_error error = {""};
    open_masking(&m, masks_label);
    lh_ref_model *model = lh_ref_model_new(lh_network_get(m.spec.id));
    lh_state state = lh_test_copy_state(m.engine);
    for (int i = 0; i < model->tensor_count; i++)
        for (int t = 0; t < m.spec.tensor_count; t++) {
            const lh_tensor *from = &m.spec.tensors[t];
            lh_ref_tensor *to = &model->tensors[i];
            if (strcmp(from->name, to->name) != 0) continue;
            for (int e = 0; e < to->rows * to->columns; e++)
                to->value[e] =
                    ((double *)state.parameters)[from->offset + e / to->columns * from->stride + e % to->columns];
        }
    int64_t counted = fill_batch(&m, &batch_data);
    double *logits = lh_parity_reserve(sizeof batch_data.label / sizeof *batch_data.label * (size_t)m.spec.classes * 8);
    double loss = lh_parity_run(model, &batch_data, logits);
    lh_parity_counts expected = lh_parity_count(&batch_data.batch, &m.spec, logits, batch_data.mask);
    lh_step_metrics metrics = make_step(&m);
    lh_assert_close(&metrics.sums.loss, &loss, 1, 1e-12, 0);
    assert_int_equal(metrics.sums.positions, counted); /* the labels in the loss; masked labels are left out */
    assert_int_equal(metrics.sums.counted, counted);
    assert_int_equal(metrics.sums.correct, expected.correct);
    assert_int_equal(metrics.sums.sequences, sequences);
    assert_int_equal(metrics.sums.exact, expected.exact);
    double *gradient = lh_parity_reserve((size_t)m.spec.parameter_storage * sizeof *gradient);
    lh_assert_ok(m.engine->ops->read_gradient(m.engine, gradient, &error), &error);
    lh_parity_check_gradients(&m.spec, 8, gradient, model, 1e-12);
    free(gradient);
    free(logits);
    lh_state_close(&state);
    lh_ref_model_free(model);
    close_masking(&m);
}

static void test_step_with_masks_has_the_gradient_of_counted_labels(void **state) {
    check_step(mask_some_labels, SEQUENCES);
    assert_true(scale_calls > 0);
}

static void test_step_with_all_masks_in_one_shard_divides_by_counted_labels_of_the_batch(void **state) {
    check_step(mask_first_shard, SEQUENCES - FIRST_SHARD);
    assert_true(scale_calls > 0);
}

static void test_step_without_masks_is_not_scaled(void **state) {
    check_step(mask_none, SEQUENCES);
    assert_int_equal(scale_calls, 0);
}

static void test_step_with_all_labels_masked_changes_nothing(void **state) {
    masking_engine m;
    open_masking(&m, mask_all_of_third_step);
    size_t bytes = (size_t)m.spec.parameter_storage * sizeof(double);
    make_step(&m);
    lh_step_metrics second = make_step(&m);
    lh_state old_state = lh_test_copy_state(m.engine);
    lh_step_metrics third = make_step(&m);
    lh_state new_state = lh_test_copy_state(m.engine);
    assert_int_equal(m.engine->step, 3);
    assert_memory_equal(new_state.parameters, old_state.parameters, bytes);
    for (int i = 0; i < m.spec.optimizer.states; i++)
        assert_memory_equal(new_state.optimizer[i], old_state.optimizer[i], bytes);
    assert_true(third.sums.positions == 0 && third.sums.sequences == 0 && third.sums.exact == 0);
    assert_true(third.sums.loss == 0 && third.gradient_norm == 0 && third.update_norm == 0);
    assert_true(fabs(third.parameter_norm - second.parameter_norm) <= 1e-12 * second.parameter_norm);
    lh_step_metrics fourth = make_step(&m);
    assert_true(fourth.update_norm > 0 && fourth.sums.positions > 0);
    lh_state_close(&old_state);
    lh_state_close(&new_state);
    close_masking(&m);
}

/* A step without counted labels does not enter means over labels, but enters means of norms. */
static void test_window_leaves_out_steps_without_counted_labels(void **state) {
    masking_engine m;
    lh_window window = {0};
    double loss = 0, norms = 0;
    open_masking(&m, mask_all_of_third_step);
    for (int i = 0; i < 4; i++) {
        lh_step_metrics metrics = make_step(&m);
        lh_window_add(&window, &metrics);
        loss += i == 2 ? 0 : metrics.sums.loss / (double)metrics.sums.positions;
        norms += metrics.gradient_norm;
    }
    assert_true(window.steps == 4 && window.masked_steps == 1);
    assert_true(fabs(lh_window_compute_mean(&window, window.loss) - loss / 3) <= 1e-12);
    assert_true(fabs(window.gradient_norm - norms) <= 1e-12);
    close_masking(&m);
}

/* lh_gradcheck compares the gradient with finite differences of the mean loss over the counted labels. */
static void test_gradcheck_of_a_masked_loss_passes(void **state) {
    masking_engine m;
    lh_error error = {""};
    open_masking(&m, mask_some_labels);
    lh_gradcheck_result *results = calloc((size_t)m.spec.tensor_count, sizeof *results);
    assert_non_null(results);
    lh_assert_ok(lh_gradcheck(&m.target, LENGTH, 1, results, &error), &error);
    for (int t = 0; t < m.spec.tensor_count; t++)
        if (m.spec.tensors[t].learned && !results[t].passed)
            fail_msg("%s: error %g", m.spec.tensors[t].name, results[t].worst_error);
    assert_true(scale_calls > 0);
    free(results);
    close_masking(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_with_masks_has_the_gradient_of_counted_labels),
        cmocka_unit_test(test_step_with_all_masks_in_one_shard_divides_by_counted_labels_of_the_batch),
        cmocka_unit_test(test_step_without_masks_is_not_scaled),
        cmocka_unit_test(test_step_with_all_labels_masked_changes_nothing),
        cmocka_unit_test(test_window_leaves_out_steps_without_counted_labels),
        cmocka_unit_test(test_gradcheck_of_a_masked_loss_passes),
    };
    return cmocka_run_group_tests_name("masked", tests, NULL, NULL);
}
