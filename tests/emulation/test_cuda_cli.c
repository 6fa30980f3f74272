/* --device cuda in the verbs of a trainer, over the emulated driver: runs, groups of runs as fleets, resuming,
 * signals, checkpoints that change devices, and messages about missing parts. */
#include "support/lh_test.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulation.h"
#include "support/lh_run.h"
#include "support/toy_cuda.h"
#include "support/toy_program.h"

#define PLAN "toy/0123456789abcdef/"

static lh_spec toy;
static lh_task task;
static lh_cuda_program program;

static void set_device(lh_emulation emulation) {
    lh_emulation_set(&emulation);
    lh_emulated_driver()->cuInit(0); /* cuda/driver.c calls cuInit only once per process */
}

static int make_toy(void **state) {
    set_device((lh_emulation){.multiprocessors = 4});
    program = toy_cuda;
    task = *lh_toy_spec.task;
    toy = lh_toy_make_spec(toy_drawn_list);
    toy.position_range[0] = 64;
    toy.task = &task;
    toy.cuda = &program;
    toy.eval.during_every = 7;
    return lh_test_make_directory(state);
}

static int end_toy(void **state) {
    assert_int_equal(lh_emulation_held(), 0);
    return lh_test_remove_directory(state);
}

static lh_run_result run(void **state, int code, const char *command) {
    return lh_run_expect(&toy, *state, code, command, NULL);
}

static void assert_text(const char *text, const char *part) {
    if (strstr(text, part) == NULL) print_error("wanted: %s\ngot: %s\n", part, text);
    assert_non_null(strstr(text, part));
}

static json_t *read_json(void **state, const char *path) {
    size_t bytes;
    char *text = lh_test_read(lh_test_path(*state, path), &bytes);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    free(text);
    return json;
}

static void assert_string(const json_t *json, const char *key, const char *expected) {
    assert_string_equal(json_string_value(json_object_get(json, key)), expected);
}

/* --- one run ---------------------------------------------------------------------------------------------------- */

static void test_train_prints_and_records_the_device(void **state) {
    lh_run_result result = run(state, 0, "train --device cuda --out . --no-eval");
    assert_text(result.err, "toy: sm_90 (emulated sm_90), one model on 4 of 4 resident blocks; batches by ");
    assert_text(result.err, "code: compute_75, compiled by the driver");
    json_t *facts = read_json(state, PLAN "lr0.01-seed0/run.json");
    assert_string(facts, "source_digest", "00000000deadbeef");
    assert_string(facts, "level", "sm_90 chip");
    assert_string(facts, "variant", "chip");
    assert_string(facts, "compiler", "driver 13.0 from compute_75");
    assert_text(json_string_value(json_object_get(facts, "machine")), "processors, emulated sm_90");
    assert_int_equal(json_integer_value(json_object_get(facts, "exit")), 0);
    json_decref(facts);
}

static void test_train_resumed_same_bits_and_lines(void **state) {
    run(state, 0, "train --device cuda:0 --out whole --steps 30 --threads 1");
    run(state, 0, "train --device cuda --out parts --steps 13 --threads 2 --no-eval");
    run(state, 0, "train --device cuda --out parts --steps 17 --threads 3 --no-eval --resume");
    run(state, 0, "train --device cuda --out parts --steps 30 --threads 1 --resume");
    lh_assert_same_run(*state, "whole", "parts", PLAN "lr0.01-seed0");
}

static void test_train_rate_is_that_of_the_steps(void **state) {
    run(state, 0, "train --device cuda --out . --seeds 0:2 --no-eval");
    for (int seed = 0; seed < 3; seed++) {
        char path[128];
        size_t bytes;
        snprintf(path, sizeof path, PLAN "lr0.01-seed%d/metrics.jsonl", seed);
        char *text = lh_test_read(lh_test_path(*state, path), &bytes);
        double rate = atof(strstr(text, "\"steps_per_second\":") + strlen("\"steps_per_second\":"));
        assert_true(rate > 0 && rate < 1e6); /* not the rate at which precomputed results are handed out */
        free(text);
    }
}

/* --- change of device --------------------------------------------------------------------------------------------- */

static void test_checkpoint_resumes_only_on_its_own_device(void **state) {
    run(state, 0, "train --out . --steps 10 --no-eval --seed 1");
    lh_run_result result = run(state, 1, "train --device cuda --out . --steps 20 --no-eval --seed 1 --resume");
    assert_text(result.err, "source_digest is \"fedcba9876543210\" there, \"00000000deadbeef\" here");
    run(state, 0, "train --device cuda --out . --steps 10 --no-eval --seeds 2:3");
    result = run(state, 1, "train --device cuda --out . --steps 20 --no-eval --seed 2 --resume");
    assert_text(result.err, "level is \"sm_90 replicas\" there, \"sm_90 chip\" here");
    result = run(state, 1, "train --out . --steps 20 --no-eval --seed 3 --resume");
    assert_text(result.err, "source_digest is");
    run(state, 0, "train --device cuda --out . --steps 20 --no-eval --seeds 2:2 --resume");
}

/* Returns the mean accuracy of a split, which the output prints after the split's lengths and their number. */
static double read_accuracy(void **state, const char *command, const char *split) {
    lh_run_result result = run(state, 0, command);
    const char *line = strstr(result.out, split);
    assert_non_null(line);
    double accuracy;
    assert_int_equal(sscanf(line + strlen(split), " %*s %*d %lf", &accuracy), 1);
    return accuracy;
}

static void test_checkpoint_evaluates_and_initialises_on_either_device(void **state) {
    run(state, 0, "train --out . --steps 20 --no-eval --seed 1");
    const char *const checkpoint = PLAN "lr0.01-seed1/checkpoint.safetensors";
    char command[256];
    for (int validation = 0; validation < 2; validation++) {
        double accuracy[2];
        for (int cuda = 0; cuda < 2; cuda++) {
            snprintf(command, sizeof command, "eval --checkpoint %s --out eval%d --device %s%s", checkpoint, cuda,
                     cuda ? "cuda" : "cpu", validation ? " --splits validation --lengths 3:6" : "");
            accuracy[cuda] = read_accuracy(state, command, validation ? "all validation" : "all beyond");
        }
        assert_true(accuracy[0] == accuracy[1]);
    }
    snprintf(command, sizeof command, "train --device cuda --out init --steps 5 --no-eval --init %s", checkpoint);
    run(state, 0, command);
    snprintf(command, sizeof command, "train --out back --steps 5 --no-eval --init init/%s",
             PLAN "lr0.01-seed0/checkpoint.safetensors");
    run(state, 0, command);
}

static void test_predict_equals_the_cpu(void **state) {
    static const char *const devices[] = {"cpu", "cuda"};
    json_t *logits[2];
    run(state, 0, "train --out . --steps 20 --no-eval");
    for (int i = 0; i < 2; i++) {
        char command[160];
        snprintf(command, sizeof command,
                 "predict --device %s --checkpoint " PLAN "lr0.01-seed0/checkpoint.safetensors", devices[i]);
        lh_run_result result =
            lh_run_main(&toy, *state, command,
                        "{\"input\":[1,4,2]}\n{\"input\":[3,3,0,1,2],\"positions\":[1,5,8,9,11,20,21,"
                        "22,23,24]}\n");
        assert_int_equal(result.code, 0);
        json_t *line = json_loads(strchr(result.out, '\n'), 0, NULL);
        logits[i] = json_incref(json_object_get(line, "logits"));
        json_decref(line);
    }
    for (size_t row = 0; row < 5; row++)
        for (size_t c = 0; c < TOY_CLASSES; c++) {
            double actual = json_number_value(json_array_get(json_array_get(logits[1], row), c));
            double expected = json_number_value(json_array_get(json_array_get(logits[0], row), c));
            lh_assert_close(&actual, &expected, 1, 1e-6, 1e-7);
        }
    json_decref(logits[0]);
    json_decref(logits[1]);
}

/* --- fleets ----------------------------------------------------------------------------------------------------- */

static const char *const RUNS[] = {PLAN "lr0.01-seed3", PLAN "lr0.01-seed4", PLAN "lr0.01-seed5",
                                   PLAN "lr0.02-seed3", PLAN "lr0.02-seed4", PLAN "lr0.02-seed5"};

/* Trains each of these runs in a process of its own, in the folder `alone`. */
static void train_alone(void **state) {
    for (int seed = 3; seed <= 5; seed++)
        for (int rate = 1; rate <= 2; rate++) {
            char command[160];
            snprintf(command, sizeof command,
                     "train --device cuda --out alone --steps 33 --seeds %d:%d --learning-rate 0.0%d", seed, seed,
                     rate);
            run(state, 0, command);
        }
}

/* Evaluations, checkpoints and metrics are due at different steps. On fewer multiprocessors, six replicas have smaller
 * teams, and then run in rounds. */
static void test_fleet_every_run_equals_a_single_run(void **state) {
    static const int multiprocessors[] = {12, 6, 4, 1};
    train_alone(state);
    for (unsigned i = 0; i < 4; i++) {
        char command[160], out[32];
        set_device((lh_emulation){.multiprocessors = multiprocessors[i], .order = i});
        snprintf(out, sizeof out, "fleet%u", i);
        snprintf(command, sizeof command,
                 "train --device cuda --out %s --steps 33 --seeds 3:5 --learning-rate 1e-2,2e-2", out);
        lh_run_result result = run(state, 0, command);
        assert_text(result.out, "toy: 6 runs, 198 steps");
        if (i == 0) assert_text(result.err, "6 replicas x 2 blocks, 12 are resident");
        if (i == 2) assert_text(result.err, "6 replicas in 2 rounds of 3, a block each: 4 blocks are resident");
        for (int k = 0; k < 6; k++) lh_assert_same_run(*state, "alone", out, RUNS[k]);
    }
}

static void test_fleet_resumes_each_from_its_own_step(void **state) {
    train_alone(state);
    run(state, 0, "train --device cuda --out parts --steps 13 --seeds 4:4 --learning-rate 0.02 --no-eval");
    run(state, 0, "train --device cuda --out parts --steps 17 --seeds 4:5 --learning-rate 0.01 --no-eval");
    lh_run_result result =
        run(state, 0, "train --device cuda --out parts --steps 33 --seeds 3:5 --learning-rate 0.01,0.02 --resume");
    assert_text(result.err, "learning rate 0.02, seed 4: resuming at step 13");
    for (int i = 0; i < 6; i++) lh_assert_same_run(*state, "alone", "parts", RUNS[i]);
}

static int64_t fatal_step; /* failing step of seed 4, from 0 on; -1: none */
static atomic_bool signals;

/* Samples as the toy does. For example 2 of a batch of seed 4, also raises a signal in step 11, from 0 on, if
 * `signals`, and makes an invalid token in the fatal step. */
static void sample_and_more(lh_rng *rng, int n, lh_example *example) {
    lh_toy_spec.task->sample(rng, n, example);
    if (rng->counter[2] != 2 || rng->key.word[0] != 4) return;
    if (rng->counter[3] == 11 && atomic_exchange(&signals, false)) raise(SIGTERM);
    if (rng->counter[3] == fatal_step) example->input[0] = 99;
}

static void test_fleet_one_run_fails_the_others_continue(void **state) {
    run(state, 0, "train --device cuda --out alone --steps 30 --seeds 3:3");
    run(state, 0, "train --device cuda --out alone --steps 30 --seeds 5:5");
    task.sample = sample_and_more;
    task.source = "own.c";
    fatal_step = 13;
    lh_run_result result = run(state, 1, "train --device cuda --out fleet --steps 30 --seeds 3:5");
    assert_text(result.err, "seed 4: error: own.c: task length ");
    assert_text(result.err, "of step 14: input[0] is 99");
    assert_text(result.err, "1 of 3 runs failed");
    lh_assert_same_run(*state, "alone", "fleet", PLAN "lr0.01-seed3");
    lh_assert_same_run(*state, "alone", "fleet", PLAN "lr0.01-seed5");
    fatal_step = -1;
    run(state, 0, "train --device cuda --out fleet --steps 30 --seeds 4:4 --resume");
    run(state, 0, "train --device cuda --out alone --steps 30 --seeds 4:4");
    lh_assert_same_run(*state, "alone", "fleet", PLAN "lr0.01-seed4");
}

/* When the signal comes, the device may be any number of steps ahead; each checkpoint is that of the last recorded
 * step. */
static void test_fleet_stopped_by_a_signal_resumes(void **state) {
    fatal_step = -1;
    run(state, 0, "train --device cuda --out whole --steps 40 --seeds 3:5");
    task.sample = sample_and_more;
    atomic_store(&signals, true);
    run(state, LH_STOPPED, "train --device cuda --out cut --steps 40 --seeds 3:5");
    for (int i = 0; i < 3; i++) {
        char path[128];
        snprintf(path, sizeof path, "cut/%s/run.json", RUNS[i]);
        json_t *facts = read_json(state, path);
        assert_int_equal(json_integer_value(json_object_get(facts, "exit")), LH_STOPPED);
        json_decref(facts);
    }
    run(state, 0, "train --device cuda --out cut --steps 40 --seeds 3:5 --resume");
    for (int i = 0; i < 3; i++) lh_assert_same_run(*state, "whole", "cut", RUNS[i]);
}

/* Draws the same positions in every step, so that a model can memorise its example. */
static void draw_in_order(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
                          const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out) {
    for (int j = 0; j < shape->labels; j++) out[j] = j;
}

static void test_fleet_overfits_fixed_examples_or_explains_why_not(void **state) {
    toy.eval.during_every = 0;
    program.draw = draw_in_order;
    lh_run_result result = run(state, 1, "train --device cuda --out . --overfit 50 --seeds 0:1 --steps 20");
    assert_text(result.err, "2 of 2 runs failed");
    assert_text(result.err, "likely cause");
    run(state, 0,
        "train --device cuda --out . --overfit 1 --seeds 0:1 --steps 5000 --learning-rate 0.02 --log-every 50");
}

static void test_train_failing_device_ends_all_runs(void **state) {
    set_device((lh_emulation){.failing_call = "cuLaunchCooperativeKernel", .failing_after = 3, .failing_result = 719});
    lh_run_result result = run(state, 4, "train --device cuda --out . --steps 30 --seeds 3:4 --no-eval");
    assert_text(result.err, "CUDA_ERROR_LAUNCH_FAILED");
    assert_text(result.err, "emulated sm_90 is lost to this process");
    assert_text(result.err, "2 of 2 runs failed");
    set_device((lh_emulation){0});
    run(state, 0, "train --device cuda --out . --steps 30 --seeds 3:4 --no-eval --resume");
}

/* If the device is lost at any call, files are complete, and the resumed run has the bits of an uninterrupted one. */
static void test_train_device_failing_anywhere_resumes(void **state) {
    static const char *const calls[] = {"cuStreamSynchronize", "cuMemcpyHtoDAsync",         "cuMemcpyDtoHAsync",
                                        "cuMemsetD8Async",     "cuLaunchCooperativeKernel", "cuCtxSetCurrent"};
    const char *const flags = "--steps 24 --checkpoint-every 3 --threads 1";
    char command[160];
    snprintf(command, sizeof command, "train --device cuda --out whole %s", flags);
    run(state, 0, command);
    for (int call = 0; call < 6; call++)
        for (int after = 1; after < 10; after += 4) {
            char out[32];
            snprintf(out, sizeof out, "lost%d.%d", call, after);
            set_device((lh_emulation){
                .multiprocessors = 4, .failing_call = calls[call], .failing_after = after, .failing_result = 700});
            snprintf(command, sizeof command, "train --device cuda --out %s %s", out, flags);
            assert_text(run(state, 4, command).err, calls[call]);
            set_device((lh_emulation){.multiprocessors = 4});
            strcat(command, " --resume");
            run(state, 0, command);
            lh_assert_same_run(*state, "whole", out, PLAN "lr0.01-seed0");
        }
}

/* --- gradients --------------------------------------------------------------------------------------------------- */

static void use_double_toy(void) {
    program = toy_double_cuda;
    toy.precision = "float64";
}

/* Returns the line of a tensor in the report. */
static const char *find_line(const lh_run_result *result, const char *tensor) {
    static char line[128];
    const char *found = strstr(result->out, tensor);
    assert_non_null(found);
    snprintf(line, sizeof line, "%.*s", (int)strcspn(found, "\n"), found);
    return line;
}

static void test_gradcheck_right_gradients_pass(void **state) {
    use_double_toy();
    lh_run_result result = run(state, 0, "gradcheck --device cuda");
    assert_text(result.out, "147 checks of 7 tensors");
    assert_null(strstr(result.out, "WRONG"));
    run(state, 0, "gradcheck --device cuda:0 --lengths 3 --seed 5");
    toy.cpu = toy_double_list;
    assert_text(run(state, 0, "gradcheck --device cpu").out, "147 checks of 7 tensors");
}

static void test_gradcheck_wrong_gradient_named(void **state) {
    use_double_toy();
    program.train_kernel = "toy_wrong_train_kernel";
    lh_run_result result = run(state, 1, "gradcheck --device cuda --lengths 4");
    assert_text(find_line(&result, "layers.0.norm1.scale"), "WRONG");
    assert_text(find_line(&result, "embed.token.weight"), "ok");
    assert_text(result.err, "the gradients of 1 of 7 tensors are wrong");
}

/* The precision is checked before the device: there is none. */
static void test_gradcheck_float_build_refused(void **state) {
    set_device((lh_emulation){.devices = -1});
    assert_text(run(state, 2, "gradcheck --device cuda").err, "computes in float32, too coarse for differences");
}

static void test_gradcheck_on_a_failing_device_reports_the_cause(void **state) {
    use_double_toy();
    set_device((lh_emulation){
        .multiprocessors = 4, .failing_call = "cuLaunchCooperativeKernel", .failing_after = 3, .failing_result = 719});
    assert_text(run(state, 4, "gradcheck --device cuda").err, "is lost to this process");
    set_device((lh_emulation){.memory = 100000});
    assert_text(run(state, 4, "gradcheck --device cuda").err, "no memory on emulated sm_90");
    set_device((lh_emulation){0});
    assert_text(run(state, 1, "gradcheck --device cuda --lengths 40").err, "length 40: a sequence has");
}

/* --- bench, info, missing parts ----------------------------------------------------------------------------------- */

static void test_bench_on_a_device_has_all_keys_and_no_peak(void **state) {
    static const char *const keys[] = {"mode",
                                       "length",
                                       "tokens",
                                       "replicas",
                                       "threads",
                                       "steps_per_second",
                                       "processor_seconds_per_step",
                                       "flops_per_second",
                                       "peak_flops_per_second",
                                       "share_of_peak",
                                       "share_of_peak_nominal"};
    for (int replicas = 0; replicas < 4; replicas += 3) {
        char command[128];
        snprintf(command, sizeof command, "bench --device cuda --lengths 3 --seconds 0.2 --json%s",
                 replicas > 0 ? " --replicas 3" : "");
        lh_run_result result = run(state, 0, command);
        char *text = strdup(result.out), *rest = text;
        int lines = 0;
        for (char *line; (line = strsep(&rest, "\n")) != NULL && line[0] != 0; lines++) {
            json_t *json = json_loads(line, 0, NULL);
            for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) assert_non_null(json_object_get(json, keys[i]));
            assert_int_equal(json_integer_value(json_object_get(json, "replicas")), replicas > 0 ? 3 : 1);
            assert_true(json_number_value(json_object_get(json, "steps_per_second")) > 0);
            assert_true(json_number_value(json_object_get(json, "peak_flops_per_second")) == 0);
            assert_true(json_is_null(json_object_get(json, "share_of_peak")));
            assert_true(json_is_null(json_object_get(json, "processor_seconds_per_step")));
            json_decref(json);
        }
        assert_int_equal(lines, 2);
        free(text);
    }
    lh_run_result result = run(state, 0, "bench --device cuda --lengths 3 --seconds 0.05");
    assert_text(result.out, "toy, sm_90 (emulated sm_90); code: compute_75");
}

static void test_info_describes_the_cuda_half(void **state) {
    lh_run_result result = run(state, 0, "info --json");
    json_t *json = json_loads(result.out, 0, NULL), *cuda = json_object_get(json, "cuda");
    assert_int_equal(json_array_size(json_object_get(json, "targets")), 2);
    assert_int_equal(json_array_size(json_object_get(json, "architectures")), 0);
    assert_string(json_array_get(json_object_get(cuda, "devices"), 0), "runs", "compute_75");
    assert_string(json_array_get(json_object_get(cuda, "devices"), 0), "architecture", "sm_90");
    assert_string(cuda, "source_digest", "00000000deadbeef");
    assert_int_equal(json_array_size(json_object_get(cuda, "ptx")), 1);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(cuda, "shards"), "chip")), 4);
    const json_t *driver = json_object_get(cuda, "least_driver");
    assert_true(json_is_null(json_object_get(driver, "images")));
    assert_string(json_object_get(driver, "ptx"), "cuda", "13.0");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(driver, "ptx"), "release")), 580);
    json_decref(json);
    result = run(state, 0, "info");
    assert_text(result.out, "compute_75 by toolkit 13.0; needs sm_75 or later; float32");
    assert_text(result.out, "\n               needs a driver of release 580 or later (CUDA 13.0)\n");
    assert_text(result.out, "cuda:0 emulated sm_90, sm_90, 4 multiprocessors: runs compute_75");
    const lh_cuda_image both[] = {{.architecture = "sm_80"}, {.architecture = "compute_80"}, {0}};
    program.images = both;
    program.toolkit = "12.4";
    result = run(state, 0, "info");
    assert_text(result.out, "needs a driver of release 525 or later (CUDA 12.0); its PTX one of release 550 or later "
                            "(CUDA 12.4)\n");
    program.least_architecture = 100;
    result = run(state, 0, "info");
    assert_text(result.out, "this program needs sm_100 or later");
    set_device((lh_emulation){.devices = -1});
    result = run(state, 0, "info");
    assert_text(result.out, "the CUDA driver failed in cuDeviceGetCount");
    toy.cuda = NULL;
    result = run(state, 0, "info");
    assert_text(result.out, "--target cpu,cuda");
    result = run(state, 0, "info --json");
    assert_text(result.out, "\"cuda\":null");
}

static void test_unavailable_device_is_refused(void **state) {
    static const char *const verbs[] = {"train --no-eval", "eval --checkpoint x", "predict --checkpoint x", "bench",
                                        "gradcheck"};
    toy.precision = "float64";
    for (int i = 0; i < 5; i++) {
        char command[128];
        snprintf(command, sizeof command, "%s --device tpu", verbs[i]);
        assert_text(run(state, 2, command).err, "'tpu' is no device\n  expected: cpu or cuda");
        snprintf(command, sizeof command, "%s --device cuda:x", verbs[i]);
        assert_text(run(state, 2, command).err, "'cuda:x' is no device");
        snprintf(command, sizeof command, "%s --device cuda:3", verbs[i]);
        assert_text(run(state, 4, command).err, "no device cuda:3 here");
        set_device((lh_emulation){.devices = -1});
        snprintf(command, sizeof command, "%s --device cuda", verbs[i]);
        assert_text(run(state, 4, command).err, "the CUDA driver failed in cuDeviceGetCount");
        toy.cuda = NULL;
        assert_text(run(state, 4, command).err, "./longhand build SPEC --target cpu,cuda");
        toy.cuda = &program;
        set_device((lh_emulation){0});
    }
    assert_false(lh_test_exists(lh_test_path(*state, "runs")));
}

#define RUN_TEST(function) cmocka_unit_test_setup_teardown(function, make_toy, end_toy)

int main(void) {
    setenv("LONGHAND_CUDA_DRIVER", LH_EMULATED_LIBRARY, 1);
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_train_prints_and_records_the_device),
        RUN_TEST(test_train_resumed_same_bits_and_lines),
        RUN_TEST(test_train_rate_is_that_of_the_steps),
        RUN_TEST(test_checkpoint_resumes_only_on_its_own_device),
        RUN_TEST(test_checkpoint_evaluates_and_initialises_on_either_device),
        RUN_TEST(test_predict_equals_the_cpu),
        RUN_TEST(test_fleet_every_run_equals_a_single_run),
        RUN_TEST(test_fleet_resumes_each_from_its_own_step),
        RUN_TEST(test_fleet_one_run_fails_the_others_continue),
        RUN_TEST(test_fleet_stopped_by_a_signal_resumes),
        RUN_TEST(test_fleet_overfits_fixed_examples_or_explains_why_not),
        RUN_TEST(test_train_failing_device_ends_all_runs),
        RUN_TEST(test_train_device_failing_anywhere_resumes),
        RUN_TEST(test_gradcheck_right_gradients_pass),
        RUN_TEST(test_gradcheck_wrong_gradient_named),
        RUN_TEST(test_gradcheck_float_build_refused),
        RUN_TEST(test_gradcheck_on_a_failing_device_reports_the_cause),
        RUN_TEST(test_bench_on_a_device_has_all_keys_and_no_peak),
        RUN_TEST(test_info_describes_the_cuda_half),
        RUN_TEST(test_unavailable_device_is_refused),
    };
    return cmocka_run_group_tests_name("cuda_cli", tests, NULL, NULL);
}
