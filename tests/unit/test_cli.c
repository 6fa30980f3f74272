/* cli/: messages on wrong command lines, and every verb but train. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/gradcheck.h"
#include "cli/cli.h"
#include "toy_program.h"
#include "toy_runs.h"

static lh_run_result run_with(void **state, int code, const char *command, const char *input) {
    return lh_run_expect(&toy, *state, code, command, input);
}

/* Runs a command. Its output, or its error message if the exit code is not 0, must contain expected_text. */
static void assert_text(void **state, int code, const char *command, const char *expected_text) {
    lh_run_result result = run_toy(state, code, command);
    const char *text = code == 0 ? result.out : result.err;
    if (strstr(text, expected_text) == NULL) print_error("%s\nwanted: %s\ngot: %s\n", command, expected_text, text);
    assert_non_null(strstr(text, expected_text));
}

/* Wrong answers are written only for conditions without noise, so --wrong is refused if all conditions have noise. */
static void test_eval_wrong_answers_need_condition_without_noise(void **state) {
    static const double loud[] = {0.5, 9}, quiet[] = {0, 0.5};
    toy.eval.noise = (lh_noise){2, loud};
    assert_text(state, 2, "eval --checkpoint x --lengths 5 --wrong w",
                "--wrong: only answers without noise are written, but eval.by.noise begins at 0.5\n"
                "  expected: 0 among eval.by.noise");
    toy.eval.noise = (lh_noise){2, quiet};
    assert_text(state, 1, "eval --checkpoint x --lengths 5 --wrong w", "x: ");
}

/* Without a dataset there is one axis, the length. */
static void test_eval_by_axes_needs_dataset(void **state) {
    assert_text(state, 2, "eval --checkpoint x --by length", "--by: this task samples its examples");
}

static void test_main_reports_wrong_words(void **state) {
    assert_text(state, 2, "", "usage: trainer VERB");
    assert_text(state, 2, "trian", "did you mean train?");
    assert_text(state, 0, "--help", "gradcheck");
    assert_text(state, 2, "train --step 5", "did you mean --steps?");
    assert_text(state, 2, "train --steps", "--steps: the value is missing");
    assert_text(state, 2, "train --steps abc", "'abc' is not an integer");
    assert_text(state, 2, "train --steps 1.5", "'1.5' is not an integer");
    assert_text(state, 2, "train --steps -1", "out of range");
    assert_text(state, 2, "train --steps=", "--steps: ");
    assert_text(state, 2, "train --learning-rate nan", "'nan' is not a number");
    assert_text(state, 2, "train steps", "'steps' is not a flag");
    assert_text(state, 2, "train --no-eval=1", "takes no value");
    assert_text(state, 2, "train --seedz 1", "did you mean --seed?");
    assert_text(state, 2, "train --seeds 3:1", "3:1 ends before it starts");
    assert_text(state, 2, "train --seeds 1:x", "'x' is not an integer");
    assert_text(state, 2, "train --seeds 1:2:3", "'2:3' is not an integer");
    assert_text(state, 2, "train --seeds 0,2",
                "expected: A:B (both included), or one integer, from 0 to 9007199254740992");
    assert_text(state, 2, "train --seeds 0:2047 --learning-rate 1,2,3", "6144 runs");
    assert_text(state, 2, "train --seeds 0:9007199254740992", "expected: at most 4096");
    assert_text(state, 2, "train --seed 1 --seeds 1:3", "exclude each other");
    assert_text(state, 2, "train --learning-rate 1,,2", "',2' is not a number");
    assert_text(state, 2, "train --learning-rate 1,2,", "'' is not a number");
    assert_text(state, 2, "train --learning-rate 1e-3,2,0.001", "0.001 is given twice");
    assert_text(state, 2, "train --learning-rate 1,2e6", "out of range");
    assert_text(state, 2, "train --resume --overwrite", "exclude each other");
    assert_text(state, 2, "train --device tpu", "expected: cpu or cuda");
    assert_text(state, 4, "train --device cuda:0", "this trainer has no CUDA half");
    assert_text(state, 2, "eval --lengths 5:1 --checkpoint x", "expected: A:B");
    assert_text(state, 2, "eval --lengths 5,,6 --checkpoint x", "expected: A:B");
    assert_text(state, 2, "eval", "--checkpoint: missing");
    assert_text(state, 2, "sample", "--length: missing");
    assert_text(state, 0, "train --help", "--overfit K");
    assert_text(state, 0, "bench --help", "--json");
}

static void test_main_explains_flags_of_other_programs(void **state) {
    assert_text(state, 2, "train --lr 1", "did you mean --learning-rate?");
    assert_text(state, 2, "train --epochs=3", "did you mean --steps?");
    assert_text(state, 2, "train --max_steps 3", "did you mean --steps?");
    assert_text(state, 2, "train --warmup 3", "train.schedule.warmup");
    assert_text(state, 2, "train --gpu", "did you mean --device cuda?");
    assert_text(state, 2, "train --output-dir x", "did you mean --out?");
    assert_text(state, 2, "train --num-threads 1", "did you mean --threads?");
    assert_text(state, 2, "train --ckpt x", "did you mean --init?");
    assert_text(state, 2, "eval --ckpt x", "did you mean --checkpoint?");
    assert_text(state, 2, "train --batch-size 32", "train.batch is a field of the spec");
    assert_text(state, 2, "eval --batch-size 32", "did you mean --batch?");
    assert_text(state, 2, "train --d_model 32", "model.width is a field of the spec");
    assert_text(state, 2, "train --frobnicate", "--help lists the flags");
}

static void test_info_has_every_fact(void **state) {
    static const char *const keys[] = {
        "id",     "digest", "model_digest", "source_digest", "spec",     "task",   "precision", "parameters",
        "levels", "level",  "targets",      "architectures", "compiler", "linked", "threads",   "shards"};
    lh_run_result result = run_toy(state, 0, "info --json");
    json_t *json = json_loads(result.out, 0, NULL);
    assert_non_null(json);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) assert_non_null(json_object_get(json, keys[i]));
    json_decref(json);
    assert_text(state, 0, "info", "bucket_sort");
    assert_text(state, 0, "info", "105 in 7 tensors, float32; 1 not learned\n");
}

static void test_sample_prints_examples_as_json_and_text(void **state) {
    lh_run_result result = run_toy(state, 0, "sample --length 4 --count 3 --seed 5");
    char *first = strdup(result.out), *cursor = first;
    int lines = 0;
    for (char *line; (line = strsep(&cursor, "\n")) && *line; lines++) {
        json_t *example = json_loads(line, 0, NULL), *target = json_object_get(example, "target");
        assert_int_equal(json_array_size(json_object_get(example, "input")), 4);
        assert_int_equal(json_array_size(json_object_get(example, "mask")), 4);
        for (size_t i = 1; i < json_array_size(target); i++)
            assert_true(json_integer_value(json_array_get(target, i - 1)) <=
                        json_integer_value(json_array_get(target, i)));
        json_decref(example);
    }
    assert_int_equal(lines, 3);
    free(first);
    result = run_toy(state, 0, "sample --length 700 --count 1 --text");
    assert_int_equal(strlen(result.out), 700 + 4 + 700 + 1);
}

static const char *train_toy(void **state) {
    run_toy(state, 0, "train --steps 5 --no-eval --out . --threads 1");
    return "toy/0123456789abcdef/lr0.01-seed0/checkpoint.safetensors";
}

/* Counts the right answers of predict in each example; eval must record the same count. */
static void test_predict_agrees_with_eval(void **state) {
    char command[256];
    const char *checkpoint = train_toy(state);
    snprintf(command, sizeof command, "eval --checkpoint %s --lengths 5 --examples 12 --out . --per-example each",
             checkpoint);
    run_toy(state, 0, command);
    lh_run_result result = run_toy(state, 0, "sample --length 5 --count 12");
    char *samples = strdup(result.out);
    snprintf(command, sizeof command, "predict --checkpoint %s", checkpoint);
    result = run_with(state, 0, command, samples);
    char *samples_left = samples, *answers_left = result.out, *lines_left;
    char *lines = read_text(state, "each");
    lines_left = lines;
    for (int i = 0; i < 12; i++) {
        json_t *sample = json_loads(strsep(&samples_left, "\n"), 0, NULL),
               *answer = json_loads(strsep(&answers_left, "\n"), 0, NULL);
        json_t *line = json_loads(strsep(&lines_left, "\n"), 0, NULL);
        int correct = 0;
        for (size_t j = 0; j < 5; j++)
            correct += json_equal(json_array_get(json_object_get(sample, "target"), j),
                                  json_array_get(json_object_get(answer, "argmax"), j));
        assert_int_equal(correct, json_integer_value(json_object_get(line, "correct")));
        assert_int_equal(json_array_size(json_object_get(answer, "logits")), 5);
        json_decref(sample);
        json_decref(answer);
        json_decref(line);
    }
    free(samples);
    free(lines);
}

static bool without_locks;

/* Replaces the system's function. */
int flock(int file, int operation) {
    if (!without_locks) return (int)syscall(SYS_flock, file, operation);
    errno = ENOLCK;
    return -1;
}

/* A process warns of missing locks once, for any number of files. */
static void test_eval_without_locks_warns_once(void **state) {
    char command[256];
    snprintf(command, sizeof command, "eval --checkpoint %s --lengths 3,5 --examples 4", train_toy(state));
    assert_null(strstr(run_toy(state, 0, command).err, "warning"));
    without_locks = true;
    lh_run_result result = run_toy(state, 0, command);
    char *warning = strstr(result.err, "warning: toy/0123456789abcdef/lr0.01-seed0: this file system has no locks");
    assert_non_null(warning);
    assert_null(strstr(warning + 1, "warning"));
    assert_null(strstr(run_toy(state, 0, command).err, "warning"));
    without_locks = false;
}

/* Runs the verbs with a model of two streams. The second stream has the target. */
static void test_verbs_run_a_model_of_two_streams(void **state) {
    char command[256];
    toy = lh_toy_make_pair(toy_float_list);
    run_toy(state, 0, "train --steps 5 --no-eval --out . --threads 2");
    const char *checkpoint = "toy_pair/0123456789abcdef/lr0.01-seed0/checkpoint.safetensors";
    snprintf(command, sizeof command, "eval --checkpoint %s --lengths 3,5 --examples 12 --out .", checkpoint);
    run_toy(state, 0, command);
    snprintf(command, sizeof command, "predict --checkpoint %s", checkpoint);
    lh_run_result result = run_with(state, 0, command, "{\"input\":[3,1,4]}\n");
    json_t *answer = json_loads(result.out, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(answer, "logits")), 3);
    json_decref(answer);
    snprintf(command, sizeof command, "trace --checkpoint %s --lengths 4 --what attention --out trace.safetensors",
             checkpoint);
    assert_text(state, 0, command, "n4.cross.attention");
    assert_text(state, 0, command, "[1][2][7][4]");
    assert_text(state, 0, "bench --json --seconds 0.02 --lengths 4 --threads 1", "\"tokens\":11,");
}

/* Checks predict with wrong lines of input. cases: [count] the input, and a part of the expected message. */
static void check_wrong_lines(void **state, const char *checkpoint, const char *const cases[][2], size_t count) {
    char command[256];
    snprintf(command, sizeof command, "predict --checkpoint %s", checkpoint);
    for (size_t i = 0; i < count; i++) {
        lh_run_result result = run_with(state, 1, command, cases[i][0]);
        if (strstr(result.err, cases[i][1]) == NULL) print_error("got: %s\n", result.err);
        assert_non_null(strstr(result.err, cases[i][1]));
    }
}

static void test_predict_names_wrong_lines(void **state) {
    static const char *const cases[][2] = {
        {"{\"input\":[1,2]}\nnonsense\n", "line 2: "},
        {"{\"input\":[1,5]}", "line 1: input[1] is 5\n  expected: 0 to 4"},
        {"{\"input\":[1.5]}", "input[0] is neither an integer nor a name"},
        {"{\"input\":[\"5\"]}", "line 1: input[0] is \"5\", which is not a symbol\n  expected: one of 0 1 2 3 4"},
        {"{\"input\":[]}", "\"input\" is not a list of tokens"},
        {"{\"input\":[1,2],\"positions\":[1,2,3,4]}", "\"positions\" is given, but this encoding samples none"},
        {"{\"input\":[1,2],\"distances\":[0,2,3,4]}", "\"distances\" is given, but this encoding samples none"},
    };
    check_wrong_lines(state, train_toy(state), cases, sizeof cases / sizeof *cases);
}

static void test_predict_names_wrong_positions(void **state) {
    static const char *const cases[][2] = {
        {"{\"input\":[1,2],\"positions\":[1]}", "1 positions\n  expected: 4"},
        {"{\"input\":[1,2],\"positions\":[1,2,3,-4]}", "positions[3]"},
        {"{\"input\":[1,2],\"positions\":[1,2,64,3]}", "positions[2] is not an integer from 0 to 63"},
    };
    const char *checkpoint = train_toy(state);
    toy.cpu = toy_drawn_list;
    toy.position_range[0] = 64;
    check_wrong_lines(state, checkpoint, cases, sizeof cases / sizeof *cases);
}

static void test_predict_names_wrong_distances(void **state) {
    static const char *const cases[][2] = {
        {"{\"input\":[1,2],\"distances\":[0,1]}", "2 distances\n  expected: 4"},
        {"{\"input\":[1,2],\"distances\":7}", "\"distances\" is not a list of integers"},
        {"{\"input\":[1,2],\"distances\":[0,1,2,3.5]}", "distances[3] is not an integer from 0 to 63"},
        {"{\"input\":[1,2],\"distances\":[0,1,2,64]}", "distances[3] is not an integer from 0 to 63"},
        {"{\"input\":[1,2],\"distances\":[1,2,3,4]}", "distances[0] is 1\n  expected: 0"},
        {"{\"input\":[1,2],\"distances\":[0,5,5,6]}", "distances[2] is 5\n  expected: more than 5"},
    };
    const char *checkpoint = train_toy(state);
    toy.distance_range[0] = 64;
    check_wrong_lines(state, checkpoint, cases, sizeof cases / sizeof *cases);
}

static void test_predict_answers_text_in_symbols(void **state) {
    char command[256];
    const char *checkpoint = train_toy(state);
    snprintf(command, sizeof command, "predict --checkpoint %s --text 3012", checkpoint);
    assert_int_equal(strlen(run_toy(state, 0, command).out), 5);
    snprintf(command, sizeof command, "predict --checkpoint %s --text 30x2", checkpoint);
    assert_text(state, 1, command, "'x2' is not a symbol of bucket_sort");
}

static void test_predict_prints_pass_count_if_it_depends_on_length(void **state) {
    char command[256];
    const char *checkpoint = train_toy(state);
    toy.passes_by_length = true;
    snprintf(command, sizeof command, "predict --checkpoint %s", checkpoint);
    assert_non_null(strstr(run_with(state, 0, command, "{\"input\":[3,0,1]}").out, "],\"passes\":3}"));
    toy.passes_by_length = false;
    assert_null(strstr(run_with(state, 0, command, "{\"input\":[3,0,1]}").out, "passes"));
}

static void test_eval_refuses_files_that_are_no_checkpoints(void **state) {
    assert_text(state, 1, "eval --checkpoint nowhere.safetensors", "nowhere.safetensors");
    lh_test_write(lh_test_path(*state, "junk"), "junk", 4);
    assert_text(state, 1, "eval --checkpoint junk", "junk");
    assert_text(state, 1, "predict --checkpoint junk", "junk");
}

static void test_eval_refuses_lengths_beyond_the_limit(void **state) {
    char command[256];
    snprintf(command, sizeof command, "eval --checkpoint %s --lengths 30:40", train_toy(state));
    assert_text(state, 1, command, "length 33");
}

static void test_gradcheck_refuses_a_float_build(void **state) {
    assert_text(state, 2, "gradcheck", "--set precision=float64");
}

static void test_gradcheck_passes_right_gradients(void **state) {
    toy.cpu = toy_double_list;
    toy.precision = "float64";
    lh_run_result result = run_toy(state, 0, "gradcheck");
    assert_non_null(strstr(result.out, "output.weight"));
    assert_non_null(strstr(result.out, "147 checks of 7 tensors, 0 checks next to a kink of the loss\n"));
    assert_null(strstr(result.out, "WRONG"));
}

static void wrong_train_block(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                              lh_sums *sums) {
    double *scale = (double *)gradient + lh_toy_spec.tensors[TOY_SCALE].offset;
    double old_value = scale[2];
    toy_double.train_block(step, block, workspace, gradient, sums);
    scale[2] = old_value + 1.001 * (scale[2] - old_value);
}

static void test_gradcheck_names_a_wrong_gradient(void **state) {
    lh_cpu_program program = toy_double;
    const lh_cpu_program *list[] = {&program, NULL};
    program.train_block = wrong_train_block;
    toy.cpu = list;
    toy.precision = "float64";
    lh_run_result result = run_toy(state, 1, "gradcheck --lengths 4");
    const char *row = strstr(result.out, "layers.0.norm1.scale");
    assert_non_null(row);
    assert_true(strstr(row, "WRONG") < strchr(row, '\n'));
    assert_non_null(strstr(result.err, "the gradients of 1 of 7 tensors are wrong"));
}

static void assert_parts_add_up(const json_t *parts) {
    static const char *const names[] = {"sampling",  "attention", "exponentials", "products",
                                        "optimiser", "waiting",   "rest"};
    double sum = 0;
    assert_int_equal(json_object_size(parts), 7);
    for (int i = 0; i < 7; i++) {
        double share = json_number_value(json_object_get(parts, names[i]));
        assert_true(share >= 0);
        sum += share;
    }
    assert_true(sum > 0.999999 && sum < 1.000001);
    assert_true(json_number_value(json_object_get(parts, "sampling")) > 0);
}

static void test_bench_has_every_key(void **state) {
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
                                       "share_of_peak_nominal",
                                       "share_of_limit",
                                       "parts"};
    lh_run_result result = run_toy(state, 0, "bench --json --seconds 0.05 --lengths 3 --threads 1");
    char *lines = result.out;
    for (int i = 0; i < 2; i++) {
        json_t *line = json_loads(strsep(&lines, "\n"), 0, NULL);
        size_t index = 0;
        for (void *k = json_object_iter(line); k; k = json_object_iter_next(line, k))
            assert_string_equal(json_object_iter_key(k), keys[index++]);
        assert_int_equal(index, sizeof keys / sizeof *keys);
        assert_string_equal(json_string_value(json_object_get(line, "mode")), i == 0 ? "train" : "eval");
        assert_true(json_number_value(json_object_get(line, "steps_per_second")) > 0);
        assert_true(json_number_value(json_object_get(line, "peak_flops_per_second")) > 1e8);
        assert_true(json_number_value(json_object_get(line, "processor_seconds_per_step")) > 0);
        assert_parts_add_up(json_object_get(line, "parts"));
        json_decref(line);
    }
    assert_text(state, 0, "bench --seconds 0.02 --lengths 3", "steps/s");
}

static void test_bench_reports_replicas_and_threads(void **state) {
    lh_run_result result = run_toy(state, 0, "bench --json --seconds 0.05 --lengths 3 --threads 2 --replicas 5");
    json_t *line = json_loads(strtok(result.out, "\n"), 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(line, "replicas")), 5);
    assert_int_equal(json_integer_value(json_object_get(line, "threads")), 2);
    assert_parts_add_up(json_object_get(line, "parts"));
    json_decref(line);
    result = run_toy(state, 0, "bench --json --seconds 0.05 --lengths 3 --threads 4 --replicas 1");
    line = json_loads(strtok(result.out, "\n"), 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(line, "threads")), 1);
    json_decref(line);
    assert_text(state, 2, "bench --replicas 0", "--replicas: 0 is out of range");
}

static void test_bench_mode_selects_training_or_evaluation(void **state) {
    lh_run_result result = run_toy(state, 0, "bench --json --seconds 0.02 --lengths 3 --mode eval");
    assert_non_null(strstr(result.out, "\"mode\":\"eval\""));
    assert_null(strstr(result.out, "\"mode\":\"train\""));
    assert_text(state, 2, "bench --mode fast", "expected: train or eval");
}

static void test_main_refuses_another_interface(void **state) {
    toy.abi = LH_ABI + 1;
    assert_text(state, 3, "info", "runtime interface");
}

static void test_main_refuses_an_unknown_level(void **state) {
    setenv("LONGHAND_ISA", "z80", 1);
    assert_text(state, 2, "bench", "z80");
    assert_text(state, 2, "info", "LONGHAND_ISA=z80: this program has no such level");
    unsetenv("LONGHAND_ISA");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_main_reports_wrong_words),
        RUN_TEST(test_eval_wrong_answers_need_condition_without_noise),
        RUN_TEST(test_eval_by_axes_needs_dataset),
        RUN_TEST(test_main_explains_flags_of_other_programs),
        RUN_TEST(test_info_has_every_fact),
        RUN_TEST(test_sample_prints_examples_as_json_and_text),
        RUN_TEST(test_predict_agrees_with_eval),
        RUN_TEST(test_eval_without_locks_warns_once),
        RUN_TEST(test_verbs_run_a_model_of_two_streams),
        RUN_TEST(test_predict_names_wrong_lines),
        RUN_TEST(test_predict_names_wrong_positions),
        RUN_TEST(test_predict_names_wrong_distances),
        RUN_TEST(test_predict_answers_text_in_symbols),
        RUN_TEST(test_predict_prints_pass_count_if_it_depends_on_length),
        RUN_TEST(test_eval_refuses_files_that_are_no_checkpoints),
        RUN_TEST(test_eval_refuses_lengths_beyond_the_limit),
        RUN_TEST(test_gradcheck_refuses_a_float_build),
        RUN_TEST(test_gradcheck_passes_right_gradients),
        RUN_TEST(test_gradcheck_names_a_wrong_gradient),
        RUN_TEST(test_bench_has_every_key),
        RUN_TEST(test_bench_reports_replicas_and_threads),
        RUN_TEST(test_bench_mode_selects_training_or_evaluation),
        RUN_TEST(test_main_refuses_another_interface),
        RUN_TEST(test_main_refuses_an_unknown_level),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
