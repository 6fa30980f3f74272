/* runtime/cuda: fleets of wide models, over the emulated driver and cuBLASLt. The toy model stands in for one: all of
 * its step is a single phase, with a product of the library's before it, on a device that holds one block. Its bits are
 * those of the toy as it is. What phases compute is tested by test_model.c. */
#include "support/lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulation.h"
#include "longhand/cuda_place.h"
#include "runtime/cuda/fleet.h"
#include "support/toy_cuda.h"
#include "support/toy_program.h"

enum { REPLICAS = 3, STEPS = 7, LONGEST = 6, EXAMPLES = 50 };

static lh_cuda_device device;
static lh_cuda_program wide;
static int passes[2], sequences[2]; /* of training, of evaluation: so far */
static int rows = 1;                /* of the product */

/* A product over the first numbers of the workspace, which the step overwrites. */
static int launches(const lh_shape *shape, lh_mode mode, void *workspace, const void *parameters, void *gradient,
                    lh_cuda_launch *launch) {
    (void)parameters;
    assert_true((gradient != NULL) == (mode == LH_MODE_TRAIN));
    passes[mode == LH_MODE_EVALUATE]++;
    sequences[mode == LH_MODE_EVALUATE] += shape->sequences;
    float *numbers = workspace;
    launch[0] = (lh_cuda_launch){.phase = LH_CUDA_PRODUCT,
                                 .product = {.rows = rows, .columns = 1, .inner = 1, .a = numbers, .b = numbers}};
    launch[0].product.out = numbers;
    launch[1] = (lh_cuda_launch){.phase = mode == LH_MODE_TRAIN ? LH_CUDA_END : LH_CUDA_FIRST};
    return 2;
}

static int few_together(const lh_shape *shape) {
    (void)shape;
    return 20;
}

static void use_device(const lh_cuda_program *program, lh_emulation emulation) {
    lh_error error;
    if (emulation.multiprocessors == 0) emulation.multiprocessors = 1;
    lh_emulation_set(&emulation);
    lh_emulated_driver()->cuInit(0); /* cuda/driver.c calls it once per process */
    wide = toy_cuda;
    wide.most_launches = 2;
    wide.launches = launches;
    wide.evaluation_group = few_together;
    memset(passes, 0, sizeof passes);
    memset(sequences, 0, sizeof sequences);
    lh_assert_ok(lh_cuda_device_open(&device, program, 0, &error), &error);
}

static void end_device(void) {
    lh_cuda_device_close(&device);
    assert_int_equal(lh_emulation_held(), 0);
}

static lh_spec toy(const lh_cuda_program *program) {
    lh_spec spec = lh_toy_spec_with(toy_drawn_list);
    spec.position_range = 64;
    spec.cuda = program;
    spec.train.batch = 13;
    return spec;
}

static lh_status open_fleet(const lh_spec *spec, int count, lh_engine **engines, lh_error *error) {
    lh_engine_config configs[REPLICAS];
    for (int i = 0; i < count; i++)
        configs[i] = (lh_engine_config){
            .spec = spec, .seed = (uint64_t)(5 + i), .learning_rate = 0.01, .threads = 2, .trains = true};
    return lh_cuda_fleet_open(&device, &spec->cuda->chip, configs, count, engines, error);
}

static void close_all(lh_engine **engines, int count) {
    for (int i = 0; i < count; i++) engines[i]->ops->close(engines[i]);
}

/* What a replica came to. */
typedef struct outcome {
    lh_step_metrics metrics[STEPS];
    lh_state state;
    lh_sums sums;
} outcome;

/* Asks every engine in turn, until each has made its steps. */
static void step_all(lh_engine **engines, int count, outcome *outcomes) {
    lh_error error;
    int steps[REPLICAS] = {0}, done;
    for (bool busy = true; busy;) {
        busy = false;
        for (int i = 0; i < count; i++) {
            if (steps[i] == STEPS) continue;
            busy = true;
            lh_assert_ok(
                engines[i]->ops->step(engines[i], STEPS - steps[i], outcomes[i].metrics + steps[i], &done, &error),
                &error);
            steps[i] += done;
        }
    }
}

static void run_fleet(const lh_spec *spec, int count, outcome *outcomes) {
    lh_error error;
    lh_engine *engines[REPLICAS];
    const lh_lengths lengths = {NULL, 0, 1, LONGEST, 1};
    memset(outcomes, 0, (size_t)count * sizeof *outcomes);
    lh_assert_ok(open_fleet(spec, count, engines, &error), &error);
    step_all(engines, count, outcomes);
    for (int i = 0; i < count; i++) {
        lh_engine *engine = engines[i];
        const lh_key key = lh_key_of_seed(9);
        const lh_condition condition = {.n = 4,
                                        .examples = EXAMPLES,
                                        .source = {key, 0, LH_DOMAIN_EVAL, 0, NULL, NULL},
                                        .draw = {key, 0, LH_SHARED, LH_DOMAIN_EVAL}};
        lh_assert_ok(engine->ops->reserve(engine, &lengths, EXAMPLES, &error), &error);
        lh_assert_ok(engine->ops->evaluate(engine, &condition, &outcomes[i].sums, NULL, &error), &error);
        lh_assert_ok(lh_state_open(&outcomes[i].state, engine, true, &error), &error);
        lh_assert_ok(engine->ops->read_state(engine, &outcomes[i].state, &error), &error);
    }
    close_all(engines, count);
}

static void test_fleet_has_the_bits_of_the_toy_as_it_is(void **state) {
    (void)state;
    outcome plain[REPLICAS], got[REPLICAS];
    for (int i = 0; i < 2; i++) {
        const lh_cuda_program *program = i == 0 ? &toy_cuda : &wide;
        use_device(program, (lh_emulation){0});
        lh_spec spec = toy(program);
        run_fleet(&spec, REPLICAS, i == 0 ? plain : got);
        end_device();
    }
    /* Each step, and once each training length for the digest of algorithms. */
    assert_int_equal(passes[0], REPLICAS * STEPS + LONGEST);
    assert_int_equal(sequences[0], (REPLICAS * STEPS + LONGEST) * 13);
    assert_int_equal(passes[1], REPLICAS * 3); /* groups of 20, 20 and 10 */
    assert_int_equal(sequences[1], REPLICAS * EXAMPLES);
    for (int i = 0; i < REPLICAS; i++) {
        size_t bytes = TOY_STORAGE * sizeof(float);
        assert_memory_equal(got[i].metrics, plain[i].metrics, sizeof plain[i].metrics);
        assert_memory_equal(&got[i].sums, &plain[i].sums, sizeof plain[i].sums);
        assert_memory_equal(got[i].state.parameters, plain[i].state.parameters, bytes);
        assert_memory_equal(got[i].state.optimizer[1], plain[i].state.optimizer[1], bytes);
        lh_state_close(&got[i].state);
        lh_state_close(&plain[i].state);
    }
}

/* What the library's sums depend on stands behind the name, as a digest. */
static void assert_compiler(const lh_engine *engine, const char *name) {
    size_t bytes = strlen(name);
    assert_memory_equal(engine->compiler, name, bytes);
    assert_int_equal(strspn(engine->compiler + bytes, "0123456789abcdef"), 8);
    assert_int_equal(strlen(engine->compiler), bytes + 8);
}

/* The algorithms of this device and of these shapes: the emulated library chooses by both. */
static void test_compiler_differs_by_device_and_shapes(void **state) {
    (void)state;
    char names[3][160];
    for (int i = 0; i < 3; i++) {
        lh_error error;
        lh_engine *engine;
        use_device(&wide, (lh_emulation){.multiprocessors = i == 1 ? 2 : 1});
        lh_spec spec = toy(&wide);
        rows = i == 2 ? 2 : 1;
        lh_assert_ok(open_fleet(&spec, 1, &engine, &error), &error);
        strcpy(names[i], engine->compiler);
        engine->ops->close(engine);
        end_device();
    }
    rows = 1;
    assert_non_null(strstr(names[1], "on 2 multiprocessors"));
    for (int i = 0; i < 3; i++)
        assert_string_not_equal(strstr(names[i], "algorithms"), strstr(names[(i + 1) % 3], "algorithms"));
}

static void test_fleet_names_the_library(void **state) {
    (void)state;
    lh_error error;
    lh_engine *engines[REPLICAS];
    char text[160];
    use_device(&wide, (lh_emulation){0});
    lh_spec spec = toy(&wide);
    lh_assert_ok(open_fleet(&spec, 1, engines, &error), &error);
    lh_cuda_fleet_describe(engines[0], text, sizeof text);
    assert_string_equal(text, "one model on 1 of 1 resident blocks, products by cuBLASLt 13.1.0");
    assert_compiler(engines[0], "driver 13.0 from compute_75, cuBLASLt 13.1.0 on 1 multiprocessors, algorithms ");
    close_all(engines, 1);
    lh_assert_ok(open_fleet(&spec, 3, engines, &error), &error);
    lh_cuda_fleet_describe(engines[2], text, sizeof text);
    assert_string_equal(text,
                        "3 replicas, one after the other, on 1 of 1 resident blocks, products by cuBLASLt 13.1.0");
    close_all(engines, 3);
    end_device();
}

static void test_open_failing_calls_release_everything(void **state) {
    (void)state;
    static const char *const calls[] = {"cublasLtCreate", "cuMemAlloc", "cuMemAllocHost"};
    int failures = 0;
    for (int call = 0; call < 3; call++)
        for (int after = 0; after < 12; after++) {
            lh_error error;
            lh_engine *engines[REPLICAS];
            use_device(&wide,
                       (lh_emulation){.failing_call = calls[call], .failing_after = after, .failing_result = 999});
            lh_spec spec = toy(&wide);
            lh_status status = open_fleet(&spec, 2, engines, &error);
            if (status == LH_OK) {
                close_all(engines, 2);
            } else {
                lh_assert_error(status, LH_ERR_ENVIRONMENT, &error, calls[call]);
                failures++;
            }
            end_device();
        }
    assert_true(failures > 12);
}

static void test_step_product_that_fails_loses_the_device(void **state) {
    (void)state;
    lh_error error;
    lh_engine *engine;
    lh_step_metrics metrics[STEPS];
    int done;
    use_device(&wide, (lh_emulation){.failing_call = "cublasLtMatmul", .failing_after = 1, .failing_result = 999});
    lh_spec spec = toy(&wide);
    lh_assert_ok(open_fleet(&spec, 1, &engine, &error), &error);
    lh_assert_ok(engine->ops->step(engine, STEPS, metrics, &done, &error), &error);
    assert_int_equal(done, 1);
    lh_status status = engine->ops->step(engine, STEPS, metrics, &done, &error);
    lh_assert_error(status, LH_ERR_ENVIRONMENT, &error, "failed in cublasLtMatmul");
    assert_int_equal(done, 0);
    lh_assert_error(engine->ops->step(engine, STEPS, metrics, &done, &error), LH_ERR_ENVIRONMENT, &error,
                    "is lost to this process");
    engine->ops->close(engine);
    end_device();
}

/* A step of the toy ends in the phase where blocks meet; its evaluation is a phase where they do not. */
static void test_only_phases_where_blocks_meet_are_cooperative(void **state) {
    (void)state;
    static const char *const calls[] = {"cuLaunchKernel", "cuLaunchCooperativeKernel"};
    for (int call = 0; call < 2; call++) {
        lh_error error;
        lh_engine *engine;
        lh_step_metrics metrics[STEPS];
        lh_sums sums;
        int done;
        const lh_lengths lengths = {NULL, 0, 1, LONGEST, 1};
        const lh_condition condition = {.n = 4,
                                        .examples = EXAMPLES,
                                        .source = {lh_key_of_seed(9), 0, LH_DOMAIN_EVAL, 0, NULL, NULL},
                                        .draw = {lh_key_of_seed(9), 0, LH_SHARED, LH_DOMAIN_EVAL}};
        use_device(&wide, (lh_emulation){.failing_call = calls[call], .failing_result = 999});
        lh_spec spec = toy(&wide);
        lh_assert_ok(open_fleet(&spec, 1, &engine, &error), &error);
        lh_assert_ok(engine->ops->reserve(engine, &lengths, EXAMPLES, &error), &error);
        lh_status status;
        if (call == 0) {
            lh_assert_ok(engine->ops->step(engine, STEPS, metrics, &done, &error), &error);
            status = engine->ops->evaluate(engine, &condition, &sums, NULL, &error);
        } else {
            lh_assert_ok(engine->ops->evaluate(engine, &condition, &sums, NULL, &error), &error);
            status = engine->ops->step(engine, STEPS, metrics, &done, &error);
        }
        lh_assert_error(status, LH_ERR_ENVIRONMENT, &error, calls[call]);
        engine->ops->close(engine);
        end_device();
    }
}

int main(void) {
    setenv("LONGHAND_CUDA_DRIVER", LH_EMULATED_LIBRARY, 1);
    setenv("LONGHAND_CUBLASLT", LH_EMULATED_LIBRARY, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fleet_has_the_bits_of_the_toy_as_it_is),
        cmocka_unit_test(test_fleet_names_the_library),
        cmocka_unit_test(test_compiler_differs_by_device_and_shapes),
        cmocka_unit_test(test_open_failing_calls_release_everything),
        cmocka_unit_test(test_step_product_that_fails_loses_the_device),
        cmocka_unit_test(test_only_phases_where_blocks_meet_are_cooperative),
    };
    return cmocka_run_group_tests_name("cuda_wide", tests, NULL, NULL);
}
