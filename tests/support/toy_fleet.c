/* See toy_fleet.h. */
#include "toy_fleet.h"

#include <stdlib.h>

#include "lh_test.h"
#include "toy_program.h"

enum { MAX_ENGINES = 8, STEPS = 30 };

lh_cuda_device lh_toy_device;
const lh_cuda_program *lh_toy_program = &toy_cuda;

void lh_toy_use_device(lh_emulation emulation) {
    lh_error error;
    lh_emulation_set(&emulation);
    lh_emulated_driver()->cuInit(0); /* cuda/driver.c calls it once per process */
    lh_assert_ok(lh_cuda_device_open(&lh_toy_device, lh_toy_program, 0, &error), &error);
}

void lh_toy_end_device(void) {
    lh_cuda_device_close(&lh_toy_device);
    assert_int_equal(lh_emulation_held(), 0);
}

static lh_spec add_device_code(lh_spec spec) {
    spec.position_range[0] = 64;
    spec.cuda = lh_toy_program;
    spec.train.batch = 13;
    return spec;
}

lh_spec lh_toy_fleet_spec(void) { return add_device_code(lh_toy_make_spec(toy_drawn_list)); }

lh_spec lh_toy_fleet_pair(void) { return add_device_code(lh_toy_make_pair(toy_drawn_list)); }

lh_toy_interruption lh_toy_interrupted;

static CUresult launch_and_interrupt(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                     CUstream stream, void **arguments) {
    lh_toy_interruption *state = &lh_toy_interrupted;
    bool is_reached = ++state->launch_count == state->interrupted_launch;
    if (is_reached && state->fails) return 719;
    state->stop = is_reached;
    return lh_emulated_driver()->cuLaunchCooperativeKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                                           shared_bytes, stream, arguments);
}

const lh_cuda_driver *lh_toy_interrupt(bool fails) {
    static lh_cuda_driver driver;
    driver = *lh_toy_device.driver;
    driver.cuLaunchCooperativeKernel = launch_and_interrupt;
    lh_toy_interrupted = (lh_toy_interruption){.fails = fails};
    return &driver;
}

lh_engine_config lh_toy_config(const lh_spec *spec, int seed) {
    return (lh_engine_config){
        .spec = spec, .seed = (uint64_t)seed, .learning_rate = 0.01 * (1 + seed % 3), .threads = 3, .trains = true};
}

void lh_toy_open_fleet(const lh_spec *spec, const lh_cuda_variant *variant, int first, int count, lh_engine **engines) {
    lh_error error;
    lh_engine_config configs[MAX_ENGINES];
    for (int i = 0; i < count; i++) configs[i] = lh_toy_config(spec, first + i);
    lh_assert_ok(lh_cuda_fleet_open(&lh_toy_device, variant, configs, count, engines, &error), &error);
}

void lh_toy_close_all(lh_engine **engines, int count) {
    for (int i = 0; i < count; i++) engines[i]->ops->close(engines[i]);
}

void lh_toy_run_fleet(lh_engine **engines, int count, int target_steps, int requested_steps, lh_toy_record *records) {
    for (bool busy = true; busy;) {
        busy = false;
        for (int i = 0; i < count; i++) {
            lh_toy_record *r = &records[i];
            int taken_steps, remaining_steps = target_steps - (int)r->steps;
            if (remaining_steps == 0 || r->status != LH_OK) continue;
            busy = true;
            r->status =
                engines[i]->ops->step(engines[i], remaining_steps < requested_steps ? remaining_steps : requested_steps,
                                      r->metrics + r->steps, &taken_steps, &r->error);
            r->steps += taken_steps;
            if (r->status != LH_OK || r->steps == target_steps) lh_cuda_deactivate((lh_cuda_engine *)engines[i]);
        }
    }
}

void lh_toy_run_one(lh_engine *engine, int target_steps, int requested_steps, lh_toy_record *r) {
    lh_toy_run_fleet(&engine, 1, target_steps, requested_steps, r);
}

lh_toy_record *lh_toy_new_records(int count) {
    lh_toy_record *records = calloc((size_t)count, sizeof *records);
    assert_non_null(records);
    return records;
}

uint32_t lh_toy_wrong_step;

void lh_toy_sample_wrong_once(lh_rng *rng, int n, lh_example *example) {
    bool has_bad_token = rng->counter[3] == lh_toy_wrong_step && rng->counter[2] == 9 && rng->key.word[0] == 4;
    lh_toy_spec.task->sample(rng, n, example);
    if (has_bad_token) example->input[0] = 77;
}

static void assert_metrics_close(const lh_step_metrics *actual, const lh_step_metrics *expected, int count) {
    for (int i = 0; i < count; i++) {
        const lh_step_metrics *a = &actual[i], *b = &expected[i];
        lh_assert_close(&a->sums.loss, &b->sums.loss, 1, 1e-5, 0);
        lh_assert_close(&a->gradient_norm, &b->gradient_norm, 1, 1e-4, 0);
        lh_assert_close(&a->parameter_norm, &b->parameter_norm, 1, 1e-6, 0);
        lh_assert_close(&a->update_norm, &b->update_norm, 1, 1e-4, 0);
        lh_assert_close(&a->heavy_share, &b->heavy_share, 1, 1e-3, 0);
        assert_int_equal(a->heavy_chunk, b->heavy_chunk);
        assert_int_equal(a->sums.positions, b->sums.positions);
        assert_int_equal(a->sums.counted, b->sums.counted);
        assert_int_equal(a->sums.correct, b->sums.correct);
        assert_int_equal(a->sums.sequences, b->sums.sequences);
        assert_int_equal(a->sums.exact, b->sums.exact);
        assert_int_equal(a->is_clipped, b->is_clipped);
        assert_int_equal(a->length, b->length);
    }
}

void lh_toy_check_steps(const lh_spec *spec, lh_engine_config config) {
    lh_error error;
    lh_step_metrics metrics[STEPS];
    lh_engine *cpu, *cuda;
    lh_toy_record *r = lh_toy_new_records(1);
    config.spec = spec;
    lh_toy_use_device((lh_emulation){0});
    cpu = lh_test_open_engine(config, &toy_drawn);
    lh_test_step(cpu, STEPS, metrics);
    lh_assert_ok(lh_cuda_fleet_open(&lh_toy_device, NULL, &config, 1, &cuda, &error), &error);
    lh_toy_run_one(cuda, STEPS, 7, r);
    lh_test_assert_ok(r->status, &r->error, __FILE__, __LINE__);
    assert_metrics_close(r->metrics, metrics, STEPS);
    lh_state a = lh_test_copy_state(cuda), b = lh_test_copy_state(cpu);
    lh_assert_close_float(a.parameters, b.parameters, TOY_STORAGE, 0, 1e-5);
    assert_true(cuda->seconds > 0 && cpu->seconds > 0);
    lh_state_close(&a);
    lh_state_close(&b);
    cuda->ops->close(cuda);
    cpu->ops->close(cpu);
    free(r);
    lh_toy_end_device();
}
