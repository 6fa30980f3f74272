/* The verb train with --device cuda, over the emulated driver: runs, groups of runs as fleets, resuming, signals, lost
 * devices. */
#include "toy_device.h"

#include <signal.h>
#include <stdatomic.h>

static json_t *read_json(void **state, const char *path) {
    size_t bytes;
    char *text = lh_test_read(lh_test_path(*state, path), &bytes);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    free(text);
    return json;
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

static void test_checkpoint_resumes_only_on_its_own_device(void **state) {
    run(state, 0, "train --out . --steps 10 --no-eval --seed 1");
    lh_run_result result = run(state, 1, "train --device cuda --out . --steps 20 --no-eval --seed 1 --resume");
    assert_text(result.err, "source_digest is \"fedcba9876543210\", expected \"00000000deadbeef\"");
    run(state, 0, "train --device cuda --out . --steps 10 --no-eval --seeds 2:3");
    result = run(state, 1, "train --device cuda --out . --steps 20 --no-eval --seed 2 --resume");
    assert_text(result.err, "level is \"sm_90 replicas\", expected \"sm_90 chip\"");
    result = run(state, 1, "train --out . --steps 20 --no-eval --seed 3 --resume");
    assert_text(result.err, "source_digest is");
    run(state, 0, "train --device cuda --out . --steps 20 --no-eval --seeds 2:2 --resume");
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
        if (i == 2) assert_text(result.err, "6 replicas in 2 rounds of 3, each on one of 4 resident blocks");
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
        for (int good_calls = 1; good_calls < 10; good_calls += 4) {
            char out[32];
            snprintf(out, sizeof out, "lost%d.%d", call, good_calls);
            set_device((lh_emulation){
                .multiprocessors = 4, .failing_call = calls[call], .failing_after = good_calls, .failing_result = 700});
            snprintf(command, sizeof command, "train --device cuda --out %s %s", out, flags);
            assert_text(run(state, 4, command).err, calls[call]);
            set_device((lh_emulation){.multiprocessors = 4});
            strcat(command, " --resume");
            run(state, 0, command);
            lh_assert_same_run(*state, "whole", out, PLAN "lr0.01-seed0");
        }
}

int main(void) {
    setenv("LONGHAND_CUDA_DRIVER", LH_EMULATED_LIBRARY, 1);
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_train_prints_and_records_the_device),
        RUN_TEST(test_train_resumed_same_bits_and_lines),
        RUN_TEST(test_train_rate_is_that_of_the_steps),
        RUN_TEST(test_checkpoint_resumes_only_on_its_own_device),
        RUN_TEST(test_fleet_every_run_equals_a_single_run),
        RUN_TEST(test_fleet_resumes_each_from_its_own_step),
        RUN_TEST(test_fleet_one_run_fails_the_others_continue),
        RUN_TEST(test_fleet_stopped_by_a_signal_resumes),
        RUN_TEST(test_fleet_overfits_fixed_examples_or_explains_why_not),
        RUN_TEST(test_train_failing_device_ends_all_runs),
        RUN_TEST(test_train_device_failing_anywhere_resumes),
    };
    return cmocka_run_group_tests_name("cuda_train", tests, NULL, NULL);
}
