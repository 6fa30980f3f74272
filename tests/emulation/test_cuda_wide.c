/* runtime/cuda: fleets of wide models, over the emulated driver and cuBLASLt. The toy model replaces a wide one: its
 * step is a single phase, preceded by a product of the library, on a device with one block. Its bits equal those of
 * the ordinary toy. test_model.c tests the results of phases. */
#include "support/lh_test.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "longhand/cuda_place.h"
#include "support/lh_run.h"
#include "support/toy_fleet.h"
#include "support/toy_program.h"

enum { REPLICAS = 3, STEPS = 7, MAX_LENGTH = 6, EXAMPLES = 50, VECTOR = TOY_STORAGE * sizeof(float) };

static lh_cuda_program wide;
static int passes[2], sequences[2];   /* numbers of passes and sequences so far, in training and in evaluation */
static int tokens;                    /* sum over training passes of a sequence's tokens */
static int rows = 1;                  /* rows of the product */
static bool has_bias;                 /* whether the product has a bias */
static int poisoned_passes[2];        /* training passes whose product writes NaN to a gradient */
static float *poison, *poison_target; /* source and destination of the NaN */

/* Lists a product of the first number of the workspace with itself, which the step overwrites, and the step's only
 * phase. */
static int list_launches(const lh_shape *shape, lh_cuda_passes no_passes, lh_mode mode, void *workspace,
                         const void *parameters, void *gradient, lh_cuda_launch *launch) {
    assert_true((gradient != NULL) == (mode == LH_MODE_TRAIN));
    passes[mode == LH_MODE_EVALUATE]++;
    sequences[mode == LH_MODE_EVALUATE] += shape->sequences;
    tokens += mode == LH_MODE_TRAIN ? shape->length[0] : 0;
    float *numbers = workspace;
    launch[0] = (lh_cuda_launch){.phase = LH_CUDA_PRODUCT,
                                 .product = {.rows = rows, .columns = 1, .inner = 1, .a = numbers, .b = numbers}};
    launch[0].product.out = numbers;
    if (mode == LH_MODE_TRAIN && (passes[0] == poisoned_passes[0] || passes[0] == poisoned_passes[1]))
        launch[0].product =
            (lh_cuda_product){.rows = 1, .columns = 1, .inner = 1, .a = poison, .b = poison, .out = poison_target};
    if (has_bias) launch[0].product.bias = numbers;
    launch[0].bias_phase = LH_CUDA_FIRST;
    launch[1] = (lh_cuda_launch){.phase = mode == LH_MODE_TRAIN ? LH_CUDA_END : LH_CUDA_FIRST};
    return 2;
}

static int get_small_group(const lh_shape *shape) { return 20; }

static void make_wide(lh_emulation emulation) {
    if (emulation.multiprocessors == 0) emulation.multiprocessors = 1;
    lh_emulation_set(&emulation);
    lh_emulated_driver()->cuInit(0); /* cuda/driver.c calls cuInit only once per process */
    wide = toy_cuda;
    wide.most_launches = 2;
    wide.launches = list_launches;
    wide.train_kernel = "toy_wide_train_kernel";
    wide.evaluation_group = get_small_group;
    memset(passes, 0, sizeof passes);
    memset(sequences, 0, sizeof sequences);
    tokens = 0;
}

static void use_device(const lh_cuda_program *program, lh_emulation emulation) {
    lh_error error;
    make_wide(emulation);
    lh_toy_program = program;
    lh_assert_ok(lh_cuda_device_open(&lh_toy_device, program, 0, &error), &error);
}

static lh_status open_fleet(const lh_spec *spec, int count, lh_engine **engines, lh_error *error) {
    lh_engine_config configs[REPLICAS];
    for (int i = 0; i < count; i++)
        configs[i] = (lh_engine_config){
            .spec = spec, .seed = (uint64_t)(5 + i), .learning_rate = 0.01, .threads = 2, .trains = true};
    return lh_cuda_fleet_open(&lh_toy_device, &spec->cuda->chip, configs, count, engines, error);
}

/* The results of a replica. */
typedef struct outcome {
    lh_step_metrics metrics[STEPS];
    lh_state state;
    lh_sums sums;
} outcome;

static lh_cuda_fleet *get_fleet(lh_engine *engine) { return ((lh_cuda_engine *)engine)->fleet; }

/* Requests steps. Sets the engine's estimate of a step's duration to a short time, so that all requested steps are
 * started together, also on a slow machine. */
static lh_status request_steps(lh_engine *engine, int steps, lh_step_metrics *metrics, int *taken_steps,
                               lh_error *error) {
    get_fleet(engine)->step_seconds = 1e-6;
    return engine->ops->step(engine, steps, metrics, taken_steps, error);
}

/* Requests at most `max_steps` steps of every engine in turn, until each has made all. */
static void step_all(lh_engine **engines, int count, int max_steps, outcome *outcomes) {
    lh_error error;
    int steps[REPLICAS] = {0}, taken_steps;
    for (bool is_unfinished = true; is_unfinished;) {
        is_unfinished = false;
        for (int i = 0; i < count; i++) {
            if (steps[i] == STEPS) continue;
            int remaining_steps = STEPS - steps[i];
            is_unfinished = true;
            lh_assert_ok(request_steps(engines[i], remaining_steps < max_steps ? remaining_steps : max_steps,
                                       outcomes[i].metrics + steps[i], &taken_steps, &error),
                         &error);
            steps[i] += taken_steps;
        }
    }
}

static lh_condition make_condition(void) {
    const lh_key key = lh_key_of_seed(9);
    return (lh_condition){.n = 4,
                          .examples = EXAMPLES,
                          .source = {.key = key, .domain = LH_DOMAIN_EVAL},
                          .draw = {.key = key, .example = LH_SHARED, .domain = LH_DOMAIN_EVAL}};
}

static void run_fleet(const lh_spec *spec, int count, int max_steps, outcome *outcomes) {
    lh_error error;
    lh_engine *engines[REPLICAS];
    const lh_lengths lengths = {NULL, 0, 1, MAX_LENGTH, 1}; /* lengths 1 to MAX_LENGTH */
    memset(outcomes, 0, (size_t)count * sizeof *outcomes);
    lh_assert_ok(open_fleet(spec, count, engines, &error), &error);
    int *capacity = &get_fleet(engines[0])->ring.capacity, opened_capacity = *capacity;
    *capacity = 2 * max_steps; /* the least capacity for batches */
    step_all(engines, count, max_steps, outcomes);
    for (int i = 0; i < count; i++) {
        lh_engine *engine = engines[i];
        const lh_condition condition = make_condition();
        lh_assert_ok(engine->ops->reserve(engine, &lengths, EXAMPLES, &error), &error);
        lh_assert_ok(engine->ops->evaluate(engine, &condition, &outcomes[i].sums, NULL, &error), &error);
        assert_int_equal(passes[1], spec->cuda == &wide ? count * 3 : 0); /* for all: groups of 20, 20 and 10 */
        lh_assert_ok(lh_state_open(&outcomes[i].state, engine, true, &error), &error);
        lh_assert_ok(engine->ops->read_state(engine, &outcomes[i].state, &error), &error);
    }
    *capacity = opened_capacity; /* all prepared steps are closed */
    lh_toy_close_all(engines, count);
}

static void close_outcomes(outcome *outcomes) {
    for (int i = 0; i < REPLICAS; i++) lh_state_close(&outcomes[i].state);
}

static void assert_same_outcomes(const outcome *actual, const outcome *expected) {
    for (int i = 0; i < REPLICAS; i++) {
        assert_memory_equal(actual[i].metrics, expected[i].metrics, sizeof expected[i].metrics);
        assert_memory_equal(&actual[i].sums, &expected[i].sums, sizeof expected[i].sums);
        assert_memory_equal(actual[i].state.parameters, expected[i].state.parameters, VECTOR);
        assert_memory_equal(actual[i].state.optimizer[1], expected[i].state.optimizer[1], VECTOR);
    }
}

/* Steps are started one by one, two by two, and all together; the next batches are copied before these steps end. */
static void test_fleet_has_the_bits_of_the_ordinary_toy(void **state) {
    outcome expected[REPLICAS], actual[REPLICAS];
    use_device(&toy_cuda, (lh_emulation){0});
    lh_spec spec = lh_toy_fleet_spec();
    run_fleet(&spec, REPLICAS, 1, expected);
    lh_toy_end_device();
    static const int together[] = {1, 2, STEPS};
    int tokens_one_by_one = 0;
    for (int i = 0; i < 3; i++) {
        use_device(&wide, (lh_emulation){.order = LH_EMULATION_DESCENDING});
        spec = lh_toy_fleet_spec();
        run_fleet(&spec, REPLICAS, together[i], actual);
        lh_toy_end_device();
        /* One pass for each step, and one for each training length for the digest of algorithms. */
        assert_int_equal(passes[0], REPLICAS * STEPS + MAX_LENGTH);
        assert_int_equal(sequences[0], (REPLICAS * STEPS + MAX_LENGTH) * 13);
        assert_int_equal(sequences[1], REPLICAS * EXAMPLES);
        tokens_one_by_one = i == 0 ? tokens : tokens_one_by_one;
        assert_int_equal(tokens, tokens_one_by_one);
        assert_same_outcomes(actual, expected);
        close_outcomes(actual);
    }
    close_outcomes(expected);
}

/* Steps are started together if their launches fit in the stream without blocking the host, but at least one. */
static void test_steps_started_together_fit_their_launches(void **state) {
    static const struct {
        int launches, replicas, together;
    } cases[] = {{2, 1, STEPS}, {200, 1, 5}, {200, 2, 2}, {600, 1, 1}, {5000, 1, 1}};
    for (int i = 0; i < 5; i++) {
        lh_error error;
        lh_engine *engines[REPLICAS];
        lh_step_metrics metrics[STEPS];
        int taken_steps = 0;
        use_device(&wide, (lh_emulation){0});
        wide.most_launches = cases[i].launches;
        lh_spec spec = lh_toy_fleet_spec();
        lh_assert_ok(open_fleet(&spec, cases[i].replicas, engines, &error), &error);
        for (int r = 0; r < cases[i].replicas; r++)
            lh_assert_ok(request_steps(engines[r], STEPS, metrics, &taken_steps, &error), &error);
        assert_int_equal(taken_steps, cases[i].together);
        lh_toy_close_all(engines, cases[i].replicas);
        lh_toy_end_device();
    }
}

/* The results of a run whose third step has a gradient that is not finite. */
typedef struct failed_run {
    lh_step_metrics metrics[STEPS];
    lh_state state;
    float gradient[TOY_STORAGE];
    lh_error error;
    int steps;
} failed_run;

/* Requests at most `max_steps` steps at a time. */
static void run_failing(int max_steps, failed_run *actual) {
    lh_error error;
    lh_engine *engine;
    CUdeviceptr memory;
    CUstream stream;
    lh_status status = LH_OK;
    memset(actual, 0, sizeof *actual);
    use_device(&wide, (lh_emulation){0});
    lh_spec spec = lh_toy_fleet_spec();
    lh_assert_ok(open_fleet(&spec, 1, &engine, &error), &error);
    assert_int_equal(lh_toy_device.driver->cuStreamCreate(&stream, 0), 0);
    assert_int_equal(lh_toy_device.driver->cuMemAlloc(&memory, 64), 0);
    assert_int_equal(lh_toy_device.driver->cuMemsetD8Async(memory, 0xff, 64, stream), 0);
    assert_int_equal(lh_toy_device.driver->cuStreamSynchronize(stream), 0);
    poison = (float *)(uintptr_t)memory;
    poison_target = (float *)(uintptr_t)get_fleet(engine)->arena.partials;
    poisoned_passes[0] = passes[0] + 3;
    poisoned_passes[1] =
        passes[0] + (max_steps == STEPS ? STEPS + 1 : 0); /* the failed step, recomputed after all of them */
    while (status == LH_OK && actual->steps < STEPS) {
        int taken_steps;
        status = request_steps(engine, max_steps, actual->metrics + actual->steps, &taken_steps, &actual->error);
        actual->steps += taken_steps;
    }
    lh_assert_error(status, LH_ERR_INPUT, &actual->error, "step 3: ");
    lh_assert_ok(engine->ops->read_gradient(engine, actual->gradient, &error), &error);
    lh_assert_ok(lh_state_open(&actual->state, engine, true, &error), &error);
    lh_assert_ok(engine->ops->read_state(engine, &actual->state, &error), &error);
    poisoned_passes[0] = poisoned_passes[1] = 0;
    lh_toy_device.driver->cuMemFree(memory);
    lh_toy_device.driver->cuStreamDestroy(stream);
    engine->ops->close(engine);
    lh_toy_end_device();
}

/* Later steps that are already in the stream update nothing, and the reported gradient is that of the failed step. */
static void test_step_that_is_not_finite_ends_later_started_steps(void **state) {
    static failed_run stepwise, together;
    run_failing(1, &stepwise);
    run_failing(STEPS, &together);
    assert_int_equal(stepwise.steps, 2);
    assert_int_equal(together.steps, 2);
    assert_string_equal(together.error.text, stepwise.error.text);
    assert_memory_equal(together.metrics, stepwise.metrics, 3 * sizeof stepwise.metrics[0]);
    assert_memory_equal(together.gradient, stepwise.gradient, sizeof stepwise.gradient);
    assert_memory_equal(together.state.parameters, stepwise.state.parameters, VECTOR);
    for (int i = 0; i < 2; i++) assert_memory_equal(together.state.optimizer[i], stepwise.state.optimizer[i], VECTOR);
    lh_state_close(&stepwise.state);
    lh_state_close(&together.state);
}

/* Checks that the compiler's name is `name` and a digest of everything on which the library's sums depend. */
static void assert_compiler(const lh_engine *engine, const char *name) {
    size_t bytes = strlen(name);
    assert_memory_equal(engine->compiler, name, bytes);
    assert_int_equal(strspn(engine->compiler + bytes, "0123456789abcdef"), 8);
    assert_int_equal(strlen(engine->compiler), bytes + 8);
}

/* The emulated library chooses algorithms by device and shape. */
static void test_compiler_differs_by_device_and_shapes(void **state) {
    char names[3][160];
    for (int i = 0; i < 3; i++) {
        lh_error error;
        lh_engine *engine;
        use_device(&wide, (lh_emulation){.multiprocessors = i == 1 ? 2 : 1});
        lh_spec spec = lh_toy_fleet_spec();
        rows = i == 2 ? 2 : 1;
        lh_assert_ok(open_fleet(&spec, 1, &engine, &error), &error);
        strcpy(names[i], engine->compiler);
        engine->ops->close(engine);
        lh_toy_end_device();
    }
    rows = 1;
    assert_non_null(strstr(names[1], "on 2 multiprocessors"));
    for (int i = 0; i < 3; i++)
        assert_string_not_equal(strstr(names[i], "algorithms"), strstr(names[(i + 1) % 3], "algorithms"));
}

static atomic_bool signals;

static void sample_and_signal(lh_rng *rng, int n, lh_example *example) {
    lh_toy_spec.task->sample(rng, n, example);
    if (rng->counter[3] == 11 && rng->counter[2] == 2 && atomic_exchange(&signals, false)) raise(SIGTERM);
}

/* If a signal comes while steps are in the stream, they are completed, and the checkpoint is that of the last one. */
static void test_training_stopped_by_a_signal_resumes_to_same_bits(void **state) {
    static const char *const folders[] = {"whole", "cut", "cut"};
    make_wide((lh_emulation){.order = LH_EMULATION_DESCENDING});
    lh_toy_program = &wide;
    lh_spec spec = lh_toy_fleet_spec();
    lh_task task = *lh_toy_spec.task;
    task.sample = sample_and_signal;
    spec.task = &task;
    for (int i = 0; i < 3; i++) {
        char command[128];
        snprintf(command, sizeof command, "train --device cuda --out %s --steps 40 --seeds 3:4%s", folders[i],
                 i == 2 ? " --resume" : "");
        atomic_store(&signals, i == 1);
        lh_run_expect(&spec, *state, i == 1 ? LH_STOPPED : 0, command, NULL);
    }
    lh_assert_same_run(*state, "whole", "cut", "toy/0123456789abcdef/lr0.01-seed3");
    lh_assert_same_run(*state, "whole", "cut", "toy/0123456789abcdef/lr0.01-seed4");
    assert_int_equal(lh_emulation_held(), 0);
}

static void test_fleet_names_the_library(void **state) {
    lh_error error;
    lh_engine *engines[REPLICAS];
    char text[160];
    use_device(&wide, (lh_emulation){0});
    lh_spec spec = lh_toy_fleet_spec();
    lh_assert_ok(open_fleet(&spec, 1, engines, &error), &error);
    lh_cuda_fleet_describe(engines[0], text, sizeof text);
    assert_string_equal(text, "one model on 1 of 1 resident blocks, products by cuBLASLt 13.1.0");
    assert_compiler(engines[0], "driver 13.0 from compute_75, cuBLASLt 13.1.0 on 1 multiprocessors, algorithms ");
    lh_toy_close_all(engines, 1);
    lh_assert_ok(open_fleet(&spec, 3, engines, &error), &error);
    lh_cuda_fleet_describe(engines[2], text, sizeof text);
    assert_string_equal(text,
                        "3 replicas, one after the other, on 1 of 1 resident blocks, products by cuBLASLt 13.1.0");
    lh_toy_close_all(engines, 3);
    lh_toy_end_device();
}

static void test_open_failing_calls_release_everything(void **state) {
    static const char *const calls[] = {"cublasLtCreate", "cuMemAlloc", "cuMemAllocHost"};
    int failures = 0;
    for (int call = 0; call < 3; call++)
        for (int good_calls = 0; good_calls < 12; good_calls++) {
            lh_error error;
            lh_engine *engines[REPLICAS];
            use_device(&wide,
                       (lh_emulation){.failing_call = calls[call], .failing_after = good_calls, .failing_result = 999});
            lh_spec spec = lh_toy_fleet_spec();
            lh_status status = open_fleet(&spec, 2, engines, &error);
            if (status == LH_OK) {
                lh_toy_close_all(engines, 2);
            } else {
                lh_assert_error(status, LH_ERR_ENVIRONMENT, &error, calls[call]);
                failures++;
            }
            lh_toy_end_device();
        }
    assert_true(failures > 12);
}

static void test_step_product_that_fails_loses_the_device(void **state) {
    lh_error error;
    lh_engine *engine;
    lh_step_metrics metrics[STEPS];
    int taken_steps;
    use_device(&wide, (lh_emulation){.failing_call = "cublasLtMatmul", .failing_after = 1, .failing_result = 999});
    lh_spec spec = lh_toy_fleet_spec();
    lh_assert_ok(open_fleet(&spec, 1, &engine, &error), &error);
    lh_assert_ok(engine->ops->step(engine, STEPS, metrics, &taken_steps, &error), &error);
    assert_int_equal(taken_steps, 1);
    lh_status status = engine->ops->step(engine, STEPS, metrics, &taken_steps, &error);
    lh_assert_error(status, LH_ERR_ENVIRONMENT, &error, "failed in cublasLtMatmul");
    assert_int_equal(taken_steps, 0);
    lh_assert_error(engine->ops->step(engine, STEPS, metrics, &taken_steps, &error), LH_ERR_ENVIRONMENT, &error,
                    "is lost to this process");
    engine->ops->close(engine);
    lh_toy_end_device();
}

/* A step of the toy ends in LH_CUDA_END, a phase in which blocks synchronise; its evaluation is another phase, in which
 * the blocks of a wide model cannot. */
static void test_only_phases_with_grid_barriers_are_cooperative(void **state) {
    static const char *const calls[] = {"cuLaunchKernel", "cuLaunchCooperativeKernel"};
    for (int call = 0; call < 2; call++) {
        lh_error error;
        lh_engine *engine;
        lh_step_metrics metrics[STEPS];
        lh_sums sums;
        int taken_steps;
        const lh_lengths lengths = {NULL, 0, 1, MAX_LENGTH, 1}; /* lengths 1 to MAX_LENGTH */
        const lh_condition condition = make_condition();
        use_device(&wide, (lh_emulation){.failing_call = calls[call], .failing_result = 999});
        lh_spec spec = lh_toy_fleet_spec();
        lh_assert_ok(open_fleet(&spec, 1, &engine, &error), &error);
        lh_assert_ok(engine->ops->reserve(engine, &lengths, EXAMPLES, &error), &error);
        lh_status status;
        if (call == 0) {
            lh_assert_ok(engine->ops->step(engine, STEPS, metrics, &taken_steps, &error), &error);
            status = engine->ops->evaluate(engine, &condition, &sums, NULL, &error);
        } else {
            lh_assert_ok(engine->ops->evaluate(engine, &condition, &sums, NULL, &error), &error);
            status = engine->ops->step(engine, STEPS, metrics, &taken_steps, &error);
        }
        lh_assert_error(status, LH_ERR_ENVIRONMENT, &error, calls[call]);
        engine->ops->close(engine);
        lh_toy_end_device();
    }
}

/* The library adds a bias; its phase is launched only if the library has no such product. */
static void test_a_bias_has_a_phase_where_the_library_does_not_add_it(void **state) {
    static const int plain_products[] = {0, 1, LH_EMULATION_EPILOGUES_FAIL};
    for (int i = 0; i < 6; i++) {
        lh_error error;
        lh_engine *engine;
        lh_step_metrics metrics[STEPS];
        int taken_steps;
        use_device(&wide, (lh_emulation){.plain_products = plain_products[i % 3]});
        lh_spec spec = lh_toy_fleet_spec();
        has_bias = i < 3;
        lh_assert_ok(open_fleet(&spec, 1, &engine, &error), &error);
        lh_assert_ok(request_steps(engine, STEPS, metrics, &taken_steps, &error), &error);
        assert_int_equal(taken_steps, STEPS);
        assert_int_equal(lh_emulation_launches(), has_bias && plain_products[i % 3] ? 2 * STEPS : STEPS);
        engine->ops->close(engine);
        lh_toy_end_device();
    }
    has_bias = false;
}

int main(void) {
    setenv("LONGHAND_CUDA_DRIVER", LH_EMULATED_LIBRARY, 1);
    setenv("LONGHAND_CUBLASLT", LH_EMULATED_LIBRARY, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fleet_has_the_bits_of_the_ordinary_toy),
        cmocka_unit_test(test_steps_started_together_fit_their_launches),
        cmocka_unit_test(test_step_that_is_not_finite_ends_later_started_steps),
        cmocka_unit_test_setup_teardown(test_training_stopped_by_a_signal_resumes_to_same_bits, lh_test_make_directory,
                                        lh_test_remove_directory),
        cmocka_unit_test(test_fleet_names_the_library),
        cmocka_unit_test(test_compiler_differs_by_device_and_shapes),
        cmocka_unit_test(test_open_failing_calls_release_everything),
        cmocka_unit_test(test_step_product_that_fails_loses_the_device),
        cmocka_unit_test(test_only_phases_with_grid_barriers_are_cooperative),
        cmocka_unit_test(test_a_bias_has_a_phase_where_the_library_does_not_add_it),
    };
    return cmocka_run_group_tests_name("cuda_wide", tests, NULL, NULL);
}
