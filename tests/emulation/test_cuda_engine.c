/* runtime/cuda/fleet: steps of one engine over the emulated driver. The toy model's numbers equal those of its CPU
 * program. */
#include "support/lh_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/datasets/corpus.h"
#include "support/toy_fleet.h"

enum { STEPS = 30 };

/* --- steps ------------------------------------------------------------------------------------------------------ */

static void test_step_numbers_are_those_of_the_cpu(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_toy_check_steps(&spec, lh_toy_config(&spec, 7));
    spec.train.batch = 3; /* fewer than shards */
    lh_toy_check_steps(&spec, lh_toy_config(&spec, 7));
    spec.train.schedule = (lh_schedule){LH_SCHEDULE_COSINE, 5, 0.1};
    lh_toy_check_steps(&spec, lh_toy_config(&spec, 7));
}

static void test_step_fixed_length_and_distinct_examples_are_those_of_the_cpu(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_engine_config config = lh_toy_config(&spec, 5);
    config.fixed_length = 6;
    config.distinct_examples = 5;
    lh_toy_check_steps(&spec, config);
}

static void test_step_separate_seeds_are_those_of_the_cpu(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_engine_config config = lh_toy_config(&spec, 5);
    config.separate_seeds = (lh_separate_seeds){{true, true, true}, {11, 12, 13}};
    lh_toy_check_steps(&spec, config);
}

static void test_engine_names_itself(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_engine *engines[3];
    char text[128];
    lh_toy_use_device((lh_emulation){.multiprocessors = 8});
    lh_toy_open_fleet(&spec, NULL, 1, 1, engines);
    assert_string_equal(engines[0]->level, "sm_90 chip");
    assert_string_equal(engines[0]->variant, "chip");
    assert_string_equal(engines[0]->compiler, "driver 13.0 from compute_75");
    assert_string_equal(engines[0]->device, "emulated sm_90");
    lh_cuda_fleet_describe(engines[0], text, sizeof text);
    assert_string_equal(text, "one model on 4 of 8 resident blocks");
    lh_toy_close_all(engines, 1);
    lh_toy_open_fleet(&spec, NULL, 1, 3, engines);
    assert_string_equal(engines[2]->level, "sm_90 replicas");
    lh_cuda_fleet_describe(engines[1], text, sizeof text);
    assert_string_equal(text, "3 replicas x 2 blocks, 8 are resident");
    lh_toy_close_all(engines, 3);
    lh_toy_end_device();
    lh_toy_use_device((lh_emulation){.multiprocessors = 2});
    lh_toy_open_fleet(&spec, NULL, 1, 3, engines);
    lh_cuda_fleet_describe(engines[1], text, sizeof text);
    assert_string_equal(text, "3 replicas in 2 rounds of 2, each on one of 2 resident blocks");
    lh_toy_close_all(engines, 3);
    lh_toy_end_device();
}

/* A learning rate that makes parameters infinite in the first update. */
static void test_step_infinite_update_stops(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_error error;
    lh_engine *engine;
    lh_engine_config config = lh_toy_config(&spec, 3);
    config.learning_rate = INFINITY;
    lh_toy_record *r = lh_toy_new_records(1);
    lh_toy_use_device((lh_emulation){0});
    lh_assert_ok(lh_cuda_fleet_open(&lh_toy_device, NULL, &config, 1, &engine, &error), &error);
    lh_toy_run_one(engine, 5, 5, r);
    lh_assert_error(r->status, LH_ERR_INPUT, &r->error, "step 1: after the update the parameters' norm is");
    assert_null(strstr(r->error.text, "gradient"));
    assert_int_equal(r->steps, 0);
    assert_int_equal(engine->step, 0);
    engine->ops->close(engine);
    free(r);
    lh_toy_end_device();
}

static void sample_masked(lh_rng *rng, int n, lh_example *example) {
    bool is_labelled = rng->counter[2] % 4 == 1;
    lh_toy_spec.task->sample(rng, n, example);
    memset(example->mask, !is_labelled, (size_t)n);
    if (n > 1) example->mask[0] = 0;
}

/* The host, not the device, counts labels in the loss and sequences with a counted label (10 of 13). */
static void test_step_with_masks_counts_labels_and_sequences(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_task task = *lh_toy_spec.task;
    lh_engine *engine;
    lh_toy_record *r = lh_toy_new_records(1);
    task.sample = sample_masked;
    spec.task = &task;
    for (int i = 0; i < 2; i++) {
        task.loss = i == 0 ? LH_LOSS_COUNTED : LH_LOSS_ALL;
        lh_toy_use_device((lh_emulation){0});
        lh_toy_open_fleet(&spec, NULL, 3, 1, &engine);
        memset(r, 0, sizeof *r);
        lh_toy_run_one(engine, STEPS, 7, r);
        for (int step = 0; step < STEPS; step++) {
            const lh_step_metrics *m = &r->metrics[step];
            int64_t label_count = 10 * (m->length > 1 ? m->length - 1 : 1);
            assert_int_equal(m->sums.counted, label_count);
            assert_int_equal(m->sums.positions, i == 0 ? label_count : 13 * m->length);
            assert_int_equal(m->sums.sequences, 10);
        }
        lh_toy_close_all(&engine, 1);
        lh_toy_end_device();
    }
    free(r);
}

/* --- opening ---------------------------------------------------------------------------------------------------- */

static void test_open_without_memory_reports_request_and_free_memory(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_error error;
    lh_engine *engine;
    lh_engine_config config = lh_toy_config(&spec, 3);
    lh_toy_use_device((lh_emulation){.memory = 200 << 10});
    lh_assert_error(lh_cuda_fleet_open(&lh_toy_device, NULL, &config, 1, &engine, &error), LH_ERR_ENVIRONMENT, &error,
                    "no memory on emulated sm_90: 131072 bytes for ");
    assert_non_null(strstr(error.text, "of 204800 bytes are free"));
    lh_toy_end_device();
}

/* If any call fails at opening, everything is released. */
static void test_open_failing_calls_release_everything(void **state) {
    static const char *const calls[] = {"cuMemAlloc",      "cuMemAllocHost",    "cuStreamCreate",
                                        "cuMemsetD8Async", "cuMemcpyHtoDAsync", "cuStreamSynchronize"};
    int failures = 0;
    lh_spec spec = lh_toy_fleet_spec();
    for (int call = 0; call < 6; call++)
        for (int good_calls = 0; good_calls < 20; good_calls++) {
            lh_error error;
            lh_engine *engines[2];
            lh_engine_config configs[2] = {lh_toy_config(&spec, 3), lh_toy_config(&spec, 4)};
            lh_toy_use_device(
                (lh_emulation){.failing_call = calls[call], .failing_after = good_calls, .failing_result = 999});
            lh_status status = lh_cuda_fleet_open(&lh_toy_device, NULL, configs, 2, engines, &error);
            if (status == LH_OK) {
                lh_toy_close_all(engines, 2);
            } else {
                lh_assert_error(status, LH_ERR_ENVIRONMENT, &error, calls[call]);
                failures++;
            }
            lh_toy_end_device();
        }
    assert_true(failures > 30);
}

/* --- dataset files ---------------------------------------------------------------------------------------------- */

static void set_shape(int input, int output, lh_shape *shape) {
    shape->length[0] = input + output;
    shape->labels = output;
}

static const char *write_lines(const char *directory) {
    const char *path = lh_test_path(directory, "train.jsonl");
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 40; i++) {
        int n = 1 + i % 3, a = i % 5, b = i / 5 % 5;
        if (n == 1) fprintf(file, "{\"input\":[%d],\"target\":[%d]}\n", a, b);
        if (n == 2) fprintf(file, "{\"input\":[%d,%d],\"target\":[%d,%d]}\n", a, b, b, a);
        if (n == 3) fprintf(file, "{\"input\":[%d,1,%d],\"target\":[%d,1,%d]}\n", a, b, b, a);
    }
    fclose(file);
    return path;
}

/* Compares epochs, batches of one shape, and short batches with the CPU. */
static void check_dataset_files(lh_spec spec, const lh_format *format, const char *path) {
    lh_task task = *spec.task;
    lh_data data = {.train = path, .longest = 6};
    lh_corpus corpus;
    lh_error error;
    task.sample = NULL;
    task.input_length = task.output_length = NULL;
    spec.format = format;
    spec.task = &task;
    spec.data = &data;
    spec.train.batch = 6;
    lh_assert_ok(lh_corpus_open(&corpus, &spec, NULL, &error), &error);
    lh_assert_ok(lh_corpus_bind(&corpus, &spec, &error), &error);
    lh_toy_check_steps(&spec, lh_toy_config(&spec, 7));
    lh_corpus_close(&corpus);
}

static void test_step_on_files_is_that_of_the_cpu(void **state) {
    lh_spec spec = lh_toy_fleet_spec();
    lh_format format = *spec.format;
    format.labels = NULL;
    format.stream[0].length = NULL;
    format.shape = set_shape;
    check_dataset_files(spec, &format, write_lines(*state));
}

static void test_step_on_files_in_two_streams_is_that_of_the_cpu(void **state) {
    check_dataset_files(lh_toy_fleet_pair(), &lh_toy_pair_data_format, write_lines(*state));
}

/* --- positions that depend on tokens ---------------------------------------------------------------------------- */

static void check_positions(const lh_cuda_fleet *fleet, const void *memory, const lh_batch *batch) {
    lh_cuda_layout layout = lh_cuda_make_layout(fleet, &batch->shape);
    size_t count = 0;
    for (int s = 0; s < LH_MAX_STREAMS; s++) {
        size_t tokens = (size_t)batch->shape.sequences * (size_t)batch->shape.length[s];
        assert_int_equal(layout.positions[s], layout.positions[0] + count * sizeof(int));
        assert_memory_equal((const char *)memory + layout.positions[s], batch->positions[s], tokens * sizeof(int));
        count += tokens;
    }
    assert_int_equal(layout.positions[0], layout.draws);
}

/* The device reads positions of tokens before random numbers. Training adds the number of the step's draw to them. */
static void test_positions_of_tokens_come_before_draws(void **state) {
    enum { N = 5 };
    static const bool digit[TOY_EMPTY + 1] = {true, true, true, true, true};
    const lh_token_positions positions = {.digit = digit, .offset = 20};
    lh_spec spec = lh_toy_fleet_pair();
    lh_format format = *spec.format;
    lh_engine *engine;
    lh_batch batch;
    lh_error error;
    lh_sums sums;
    lh_lengths lengths = {NULL, 0, N, N, 1}; /* a single length, N */
    lh_condition condition = lh_make_condition(N, spec.train.batch, 1, 0);
    lh_toy_record *record = lh_toy_new_records(1);
    format.positions = &positions;
    spec.format = &format;
    lh_toy_use_device((lh_emulation){0});
    lh_toy_open_fleet(&spec, NULL, 3, 1, &engine);
    lh_toy_run_one(engine, 1, 1, record);
    lh_cuda_fleet *fleet = ((lh_cuda_engine *)engine)->fleet;
    const lh_cuda_prepared_step *prepared = lh_cuda_ring_get(&fleet->ring, 0, 0);
    lh_source source = {prepared->data_key, 0, LH_DOMAIN_DATA, 0, NULL, NULL};
    lh_draw draw = {((lh_cuda_engine *)engine)->draws_key, 0, LH_SHARED, LH_DOMAIN_POSITIONS, 0};
    lh_assert_ok(lh_batch_open(&batch, &spec, prepared->n > N ? prepared->n : N, spec.train.batch, &error), &error);
    lh_assert_ok(lh_batch_fill(&batch, &spec, &source, prepared->n, 0, spec.train.batch, &error), &error);
    int32_t first_position = batch.positions[0][0];
    lh_batch_shift_positions(&batch, &spec, &draw, 0);
    assert_true(batch.positions[0][0] > first_position);
    check_positions(fleet, fleet->ring.host, &batch);
    lh_assert_ok(engine->ops->reserve(engine, &lengths, spec.train.batch, &error), &error);
    lh_assert_ok(engine->ops->evaluate(engine, &condition, &sums, NULL, &error), &error);
    lh_assert_ok(lh_batch_fill(&batch, &spec, &condition.source, N, 0, spec.train.batch, &error), &error);
    check_positions(fleet, fleet->forward.host_batch, &batch);
    lh_batch_close(&batch);
    lh_toy_close_all(&engine, 1);
    free(record);
    lh_toy_end_device();
}

int main(void) {
    setenv("LONGHAND_CUDA_DRIVER", LH_EMULATED_LIBRARY, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_numbers_are_those_of_the_cpu),
        cmocka_unit_test(test_step_fixed_length_and_distinct_examples_are_those_of_the_cpu),
        cmocka_unit_test(test_step_separate_seeds_are_those_of_the_cpu),
        cmocka_unit_test(test_step_with_masks_counts_labels_and_sequences),
        cmocka_unit_test(test_engine_names_itself),
        cmocka_unit_test(test_positions_of_tokens_come_before_draws),
        cmocka_unit_test(test_step_infinite_update_stops),
        cmocka_unit_test(test_open_without_memory_reports_request_and_free_memory),
        cmocka_unit_test(test_open_failing_calls_release_everything),
        cmocka_unit_test_setup_teardown(test_step_on_files_is_that_of_the_cpu, lh_test_make_directory,
                                        lh_test_remove_directory),
        cmocka_unit_test_setup_teardown(test_step_on_files_in_two_streams_is_that_of_the_cpu, lh_test_make_directory,
                                        lh_test_remove_directory),
    };
    return cmocka_run_group_tests_name("cuda_engine", tests, NULL, NULL);
}
