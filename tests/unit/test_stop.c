/* A signal during an evaluation, decoding or a trace. The verb ends soon, with exit code 75. It keeps finished
 * results, and no part of unfinished ones. The next call gives the bits of an uninterrupted call. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/decode.h"
#include "lh_engines.h"
#include "toy_program.h"
#include "toy_runs.h"

enum { EXAMPLES = 40, PASSES = EXAMPLES / 2 /* passes of a condition; a pass has two sequences */, THREADS = 2 };

static lh_cpu_program program;
static const lh_cpu_program *const list[] = {&program, NULL};
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static int calls;       /* calls of computing functions in this run */
static int signal_call; /* the call that receives a signal; 0: none */

/* Sends the signal and waits until it has been handled, so that no other call is counted before. */
static void raise_signal_at_call(void) {
    pthread_mutex_lock(&counting);
    if (++calls == signal_call) raise(SIGTERM);
    pthread_mutex_unlock(&counting);
}

static void forward_block(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, lh_sums *sums) {
    raise_signal_at_call();
    toy_float.forward_block(step, block, workspace, sums);
}

static void decode_step(const lh_cpu_step *step, const lh_cpu_block *block, int from, int to, void *memory) {
    raise_signal_at_call();
    toy_float.decode_step(step, block, from, to, memory);
}

static void trace_block(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, const lh_trace *to,
                        lh_sums *sums) {
    raise_signal_at_call();
    toy_float.trace_block(step, block, workspace, to, sums);
}

static int make_stopped_toy(void **state) {
    int failure = make_toy(state);
    program = toy_float;
    program.forward_block = forward_block;
    program.decode_step = decode_step;
    program.trace_block = trace_block;
    toy.cpu = list;
    toy.eval.examples = EXAMPLES;
    return failure;
}

/* Runs a command. call: the call of a computing function at which the command receives the signal; 0: no signal. code:
 * the expected exit code. */
static lh_run_result run_until(void **state, int call, int code, const char *command) {
    calls = 0;
    signal_call = call;
    lh_run_result result = run_toy(state, code, command);
    if (code == LH_STOPPED) assert_in_range(calls, call, call + THREADS - 1);
    assert_null(strstr(result.err, "warning: "));
    return result;
}

static void run_command(void **state, const char *command) { run_until(state, 0, 0, command); }

/* The number of lines of a file, which must all be complete. */
static int count_whole_lines(void **state, const char *name) {
    char *text = read_text(state, name);
    int lines = count_lines(text);
    assert_true(*text == 0 || text[strlen(text) - 1] == '\n');
    free(text);
    return lines;
}

static void test_evaluation_after_training_resumes_at_the_condition(void **state) {
    run_command(state, "train --out whole --threads 2");
    run_until(state, PASSES + 5, LH_STOPPED, "train --out cut --threads 2");
    assert_int_equal(count_whole_lines(state, "cut/" FOLDER "/eval.jsonl"), 1);
    run_command(state, "train --out cut --threads 2 --resume");
    assert_int_equal(calls, 2 * PASSES);
    lh_assert_same_file(*state, "whole/" FOLDER "/eval.jsonl", "cut/" FOLDER "/eval.jsonl");
    lh_assert_same_file(*state, "whole/" FOLDER "/checkpoint.safetensors", "cut/" FOLDER "/checkpoint.safetensors");
}

/* After steps 6, 12 and 18 there are evaluations of two conditions. Each process completes one condition and a half;
 * then the signal stops it, and it writes a checkpoint of the current step. */
static void test_evaluation_during_training_resumes(void **state) {
    int stops = 0;
    toy.eval.during_every = 6;
    toy.eval.during_lengths = (lh_lengths){.first = 5, .last = 6, .step = 1};
    toy.eval.during_examples = EXAMPLES;
    run_command(state, "train --out whole --steps 19 --threads 2 --no-eval");
    while (lh_test_exists(lh_test_path(*state, "cut")) == 0 ||
           count_whole_lines(state, "cut/" FOLDER "/eval.jsonl") < 5) {
        run_until(state, PASSES + PASSES / 2, LH_STOPPED, "train --out cut --steps 19 --threads 2 --no-eval --resume");
        assert_int_equal(count_whole_lines(state, "cut/" FOLDER "/eval.jsonl"), ++stops);
    }
    run_command(state, "train --out cut --steps 19 --threads 2 --no-eval --resume");
    assert_int_equal(calls, PASSES);
    lh_assert_same_file(*state, "whole/" FOLDER "/eval.jsonl", "cut/" FOLDER "/eval.jsonl");
    lh_assert_same_lines(*state, "whole/" FOLDER "/metrics.jsonl", "cut/" FOLDER "/metrics.jsonl");
    lh_assert_same_file(*state, "whole/" FOLDER "/checkpoint.safetensors", "cut/" FOLDER "/checkpoint.safetensors");
}

/* The result is unknown after a stop, so the exit code is not the code of a failed --overfit. */
static void test_stopped_overfit_is_no_failure(void **state) {
    run_until(state, PASSES + 5, LH_STOPPED, "train --out . --overfit 40 --steps 5 --log-every 5 --threads 2");
}

#define EVAL "eval --checkpoint " FOLDER "/checkpoint.safetensors --threads 2 "

static void test_eval_keeps_finished_conditions(void **state) {
    run_command(state, "train --out . --no-eval");
    run_command(state, EVAL "--out whole --per-example whole.jsonl");
    lh_run_result stopped = run_until(state, PASSES + 5, LH_STOPPED, EVAL "--out cut --per-example cut.jsonl");
    assert_non_null(strstr(stopped.err, "stopped by a signal; eval.jsonl has the finished conditions"));
    assert_int_equal(count_whole_lines(state, "cut/eval.jsonl"), 1);
    assert_int_equal(count_whole_lines(state, "cut.jsonl"), EXAMPLES);
    assert_int_equal(count_whole_lines(state, "whole.jsonl"), 3 * EXAMPLES);
    run_command(state, EVAL "--out cut --resume");
    assert_int_equal(calls, 2 * PASSES);
    lh_assert_same_file(*state, "whole/eval.jsonl", "cut/eval.jsonl");
    run_command(state, EVAL "--out cut --resume --seed 3"); /* no line of the other seed exists */
    assert_int_equal(calls, 3 * PASSES);
    run_command(state, EVAL "--out cut --resume --seed 3");
    assert_int_equal(calls, 0);
    assert_int_equal(count_whole_lines(state, "cut/eval.jsonl"), 6);
    run_until(state, 5, LH_STOPPED, EVAL "--out wrong --wrong wrong.jsonl");
    assert_int_equal(count_whole_lines(state, "wrong.jsonl"), 0);
    assert_false(lh_test_exists(lh_test_path(*state, "wrong/eval.jsonl")));
    run_until(state, 0, LH_ERR_USAGE, EVAL "--out cut --resume --per-example cut.jsonl");
}

static void test_stopped_trace_writes_nothing(void **state) {
    toy = lh_toy_make_pair(list);
    run_command(state, "train --out . --no-eval");
    lh_run_result result = run_until(state, 3, LH_STOPPED,
                                     "trace --checkpoint toy_pair/0123456789abcdef/lr0.01-seed0/checkpoint.safetensors "
                                     "--length 4 --examples 9 --out trace.safetensors");
    assert_non_null(strstr(result.err, "stopped by a signal; nothing was written"));
    assert_false(lh_test_exists(lh_test_path(*state, "trace.safetensors")));
}

static volatile sig_atomic_t stop;

static void on_signal(int number) { stop = 1; }

/* Decoding with a cache stops between two tokens, decoding by passes between two passes. */
static void test_decode_ends_between_tokens(void **state) {
    static const uint16_t input[EXAMPLES * 7];
    uint16_t answers[EXAMPLES * 7];
    const lh_answers to = {.answers = answers};
    lh_lengths lengths = {.first = 7, .last = 7, .step = 1};
    lh_error error;
    toy = lh_toy_make_pair(list);
    for (int by_passes = 0; by_passes < 2; by_passes++) {
        lh_engine_config config = {.spec = &toy, .seed = 7, .threads = THREADS};
        program.decode_step = by_passes ? NULL : decode_step;
        lh_engine *engine = lh_test_open_engine(config, &program);
        lh_assert_ok(engine->ops->reserve(engine, &lengths, EXAMPLES, &error), &error);
        lh_query query = {.n = 7, .input = input, .draw = lh_make_condition(7, 1, 1, 0).draw};
        signal_call = stop = 0;
        engine->stop = &stop;
        lh_assert_ok(lh_decode(engine, &query, EXAMPLES, &to, &error), &error);
        signal(SIGTERM, on_signal);
        calls = 0;
        signal_call = 5;
        assert_int_equal(lh_decode(engine, &query, EXAMPLES, &to, &error), LH_STOPPED);
        assert_in_range(calls, 5, 5 + THREADS - 1);
        signal(SIGTERM, SIG_DFL);
        engine->ops->close(engine);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_stopped_toy, lh_test_remove_directory)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_evaluation_after_training_resumes_at_the_condition),
        TEST(test_evaluation_during_training_resumes),
        TEST(test_stopped_overfit_is_no_failure),
        TEST(test_eval_keeps_finished_conditions),
        TEST(test_stopped_trace_writes_nothing),
        TEST(test_decode_ends_between_tokens),
    };
    return cmocka_run_group_tests_name("stop", tests, NULL, NULL);
}
