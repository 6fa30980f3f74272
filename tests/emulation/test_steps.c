/* Training steps of a generated model's engine on an emulated device, compared with those on the CPU, for settings of
 * which host and device compute a part each. Every third label is masked, and all labels of one sequence. The linker
 * sets lh_model to the spec, in float64. */
#include "support/lh_test.h"

#include <stdlib.h>
#include <string.h>

#include "emulation.h"
#include "engine/target.h"
#include "runtime/cuda/fleet/fleet_parts.h"
#include "support/lh_engines.h"

extern const lh_spec lh_model;

enum { SEED = 6, STEPS = 3, BATCH = 11, SHARDS = 6, REPLICAS = 2 };
enum { NO_LABELS = 5 /* a sequence whose labels are all masked */ };

static void sample(lh_rng *rng, int n, lh_example *example) {
    int index = (int)rng->counter[2];
    lh_model.task->sample(rng, n, example);
    for (int i = 0; i < example->output_length; i++) example->mask[i] = index != NO_LABELS && (i + index) % 3 != 1;
}

typedef struct training {
    lh_step_metrics metrics[STEPS];
    lh_state state;
} training;

/* Makes all steps of engines, in turn. Steps on a device are started together, also on a slow machine. */
static void make_steps(lh_engine **engines, int count, bool is_on_device, training *results) {
    lh_error error = {""};
    int steps[REPLICAS] = {0};
    if (is_on_device) ((lh_cuda_engine *)engines[0])->fleet->step_seconds = 1e-6;
    for (int i = 0, unfinished = count; unfinished > 0; i = (i + 1) % count) {
        int taken_steps;
        if (steps[i] == STEPS) continue;
        lh_assert_ok(
            engines[i]->ops->step(engines[i], STEPS - steps[i], results[i].metrics + steps[i], &taken_steps, &error),
            &error);
        if (is_on_device) assert_true(taken_steps == STEPS || (taken_steps == 0 && i < count - 1));
        steps[i] += taken_steps;
        unfinished -= steps[i] == STEPS;
    }
}

/* Trains replicas with the seeds from first_seed on, side by side. A device has one block for each of
 * `multiprocessors`. */
static void train_replicas(const char *device, int multiprocessors, unsigned order, uint64_t first_seed, int replicas,
                           training *results) {
    static const unsigned char code[] = "compute_75";
    static const lh_cuda_image images[] = {{"compute_75", code, code + sizeof code - 1}, {NULL, NULL, NULL}};
    lh_cuda_program program = *lh_model.cuda;
    lh_task task = *lh_model.task;
    lh_spec spec = lh_model;
    lh_target target;
    lh_engine_config configs[REPLICAS];
    lh_engine *engines[REPLICAS];
    lh_error error = {""};
    program.images = images;
    program.toolkit = "13.0";
    program.chip.shards = program.replicas.shards = spec.train.shards = SHARDS;
    task.sample = sample;
    spec.cuda = &program;
    spec.task = &task;
    spec.train.batch = BATCH;
    lh_emulation_set(&(lh_emulation){.multiprocessors = multiprocessors, .order = order});
    lh_emulated_driver()->cuInit(0); /* cuda/driver.c calls it once per process */
    lh_assert_ok(lh_target_open(&target, &spec, device, &error), &error);
    for (int i = 0; i < replicas; i++)
        configs[i] = (lh_engine_config){.spec = &target.spec,
                                        .seed = first_seed + (uint64_t)i,
                                        .learning_rate = 1e-3,
                                        .threads = 2,
                                        .trains = true};
    lh_assert_ok(lh_target_open_engines(&target, configs, replicas, false, engines, &error), &error);
    make_steps(engines, replicas, strcmp(device, "cuda") == 0, results);
    for (int i = 0; i < replicas; i++) {
        results[i].state = lh_test_copy_state(engines[i]);
        engines[i]->ops->close(engines[i]);
    }
    lh_target_close(&target);
}

static training train(const char *device, int multiprocessors, unsigned order) {
    training result;
    train_replicas(device, multiprocessors, order, SEED, 1, &result);
    return result;
}

static void assert_same_bits(const training *actual, const training *expected) {
    assert_memory_equal(actual->state.parameters, expected->state.parameters,
                        (size_t)lh_model.parameter_storage * sizeof(double));
    assert_memory_equal(actual->metrics, expected->metrics, sizeof expected->metrics);
}

static void test_steps_are_those_of_the_cpu(void **state) {
    training cpu = train("cpu", 1, 0), device = train("cuda", 2, 0);
    for (int i = 0; i < STEPS; i++) {
        const lh_step_metrics *actual = &device.metrics[i], *expected = &cpu.metrics[i];
        assert_int_equal(expected->sums.sequences, BATCH - 1);
        lh_assert_close(&actual->sums.loss, &expected->sums.loss, 1, 1e-10, 0);
        lh_assert_close(&actual->gradient_norm, &expected->gradient_norm, 1, 1e-9, 0);
        lh_assert_close(&actual->parameter_norm, &expected->parameter_norm, 1, 1e-10, 0);
        lh_assert_close(&actual->update_norm, &expected->update_norm, 1, 1e-7, 0);
        assert_int_equal(actual->sums.positions, expected->sums.positions);
        assert_int_equal(actual->sums.counted, expected->sums.counted);
        assert_int_equal(actual->sums.correct, expected->sums.correct);
        assert_int_equal(actual->sums.sequences, expected->sums.sequences);
        assert_int_equal(actual->sums.exact, expected->sums.exact);
        assert_int_equal(actual->length, expected->length);
    }
    lh_assert_close(device.state.parameters, cpu.state.parameters, (size_t)lh_model.parameter_storage, 0, 1e-8);
    lh_state_close(&cpu.state);
    lh_state_close(&device.state);
}

static void test_steps_on_any_number_of_blocks_have_the_same_bits(void **state) {
    training first = train("cuda", 1, 0);
    for (int multiprocessors = 2; multiprocessors <= 3; multiprocessors++) {
        training other = train("cuda", multiprocessors, (unsigned)multiprocessors);
        assert_same_bits(&other, &first);
        lh_state_close(&other.state);
    }
    lh_state_close(&first.state);
}

/* Two blocks train a replica each, four blocks two each. */
static void test_replicas_have_the_bits_of_single_models(void **state) {
    training alone[REPLICAS], together[REPLICAS];
    for (int i = 0; i < REPLICAS; i++) train_replicas("cuda", 2, 0, SEED + (uint64_t)i, 1, &alone[i]);
    for (int multiprocessors = REPLICAS; multiprocessors <= 2 * REPLICAS; multiprocessors += REPLICAS) {
        train_replicas("cuda", multiprocessors, 1, SEED, REPLICAS, together);
        for (int i = 0; i < REPLICAS; i++) {
            assert_same_bits(&together[i], &alone[i]);
            lh_state_close(&together[i].state);
        }
    }
    for (int i = 0; i < REPLICAS; i++) lh_state_close(&alone[i].state);
}

int main(void) {
    setenv("LONGHAND_CUDA_DRIVER", LH_EMULATED_LIBRARY, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_those_of_the_cpu),
        cmocka_unit_test(test_steps_on_any_number_of_blocks_have_the_same_bits),
        cmocka_unit_test(test_replicas_have_the_bits_of_single_models),
    };
    return cmocka_run_group_tests_name(lh_model.id, tests, NULL, NULL);
}
