/* training/loop, training/run_files: the files of a run, its evaluations, and warnings about its loss and gradient. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "toy_program.h"
#include "toy_runs.h"

static void test_metrics_have_their_keys_in_order(void **state) {
    static const char *const keys[] = {
        "step",           "loss",        "accuracy",      "exact_match",      "grad_norm", "clipped_share",
        "parameter_norm", "update_norm", "learning_rate", "steps_per_second", "seconds"};
    run_toy(state, 0, "train --out . --threads 1 --no-eval");
    char *text = read_text(state, FOLDER "/metrics.jsonl");
    assert_int_equal(count_lines(text), 4);
    json_t *line = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
    size_t index = 0;
    for (void *i = json_object_iter(line); i; i = json_object_iter_next(line, i))
        assert_string_equal(json_object_iter_key(i), keys[index++]);
    assert_int_equal(index, sizeof keys / sizeof *keys);
    assert_int_equal(json_integer_value(json_object_get(line, "step")), 5);
    assert_true(json_number_value(json_object_get(line, "steps_per_second")) > 0);
    json_decref(line);
    free(text);
}

/* Makes step 6 fail unless the whole line of step 5, the only one so far, is in the file. */
static void train_block_after_a_line(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace,
                                     void *gradient, lh_sums *sums) {
    char line[1024] = "";
    toy_float.train_block(step, block, workspace, gradient, sums);
    if (step->step != 5) return;
    FILE *file = fopen(FOLDER "/metrics.jsonl", "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL || strncmp(line, "{\"step\":5,", 10) != 0 ||
        strchr(line, '\n') == NULL || fgetc(file) != EOF)
        sums->loss = NAN;
    if (file != NULL) fclose(file);
}

static void test_line_is_in_the_file_before_the_next_step(void **state) {
    lh_cpu_program program = toy_float;
    const lh_cpu_program *list[] = {&program, NULL};
    program.train_block = train_block_after_a_line;
    toy.cpu = list;
    run_toy(state, 0, "train --out . --threads 1 --no-eval");
}

/* A generative model reads its target before it answers; the key of its accuracy records this. */
static void test_metrics_of_generative_models_name_teacher_forcing(void **state) {
    toy = lh_toy_make_pair(toy_float_list);
    lh_run_result result = run_toy(state, 0, "train --out . --no-eval --steps 10");
    assert_non_null(strstr(result.err, "  teacher-forced 0."));
    char *text = read_text(state, "toy_pair/0123456789abcdef/lr0.01-seed0/metrics.jsonl");
    assert_int_equal(count_lines(text), 2);
    assert_non_null(strstr(text, "\"accuracy_teacher_forced\":0."));
    assert_null(strstr(text, "\"accuracy\":"));
    free(text);
}

static void test_evaluation_lines_are_complete(void **state) {
    lh_run_result result = run_toy(state, 0, "train --out . --threads 2");
    assert_non_null(strstr(result.out, "all beyond"));
    char *text = read_text(state, FOLDER "/eval.jsonl");
    assert_int_equal(count_lines(text), 3);
    assert_ptr_equal(text, strstr(text, "{\"step\":20,\"split\":\"beyond\",\"by\":{\"length\":7},\"examples\":10,"
                                        "\"draws\":1,\"accuracy\":"));
    free(text);
}

static void test_run_json_is_complete(void **state) {
    run_toy(state, 0, "train --out . --threads 1 --no-eval --seed 0");
    char *text = read_text(state, FOLDER "/run.json");
    json_t *facts = json_loads(text, 0, NULL);
    static const char *const keys[] = {"id",      "digest",    "model_digest",  "source_digest", "spec",
                                       "flags",   "seed",      "learning_rate", "level",         "compiler",
                                       "variant", "precision", "threads",       "parameters",    "machine",
                                       "started", "step",      "train_seconds", "ended",         "exit"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) assert_non_null(json_object_get(facts, keys[i]));
    assert_int_equal(json_integer_value(json_object_get(facts, "exit")), 0);
    assert_int_equal(json_integer_value(json_object_get(facts, "step")), 20);
    assert_true(json_number_value(json_object_get(facts, "train_seconds")) > 0);
    assert_int_equal(json_array_size(json_object_get(facts, "flags")), 7);
    assert_true(json_is_string(json_object_get(facts, "ended")));
    assert_true(json_number_value(json_object_get(facts, "learning_rate")) == 0.01);
    json_int_t sequences = 0;
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(facts, "seen"), i, entry) {
        json_int_t n = json_integer_value(json_array_get(entry, 0)),
                   count = json_integer_value(json_array_get(entry, 1));
        sequences += count;
        assert_int_equal(json_integer_value(json_array_get(entry, 2)), count * n);
        assert_int_equal(json_integer_value(json_array_get(entry, 3)), count * 2 * n);
    }
    assert_int_equal(sequences, 20 * 8);
    json_decref(facts);
    free(text);
}

static void test_existing_run_is_refused(void **state) {
    run_toy(state, 0, "train --out . --no-eval");
    lh_run_result result = run_toy(state, 1, "train --out . --no-eval");
    assert_non_null(strstr(result.err, "--resume"));
    assert_non_null(strstr(result.err, "--overwrite"));
    run_toy(state, 0, "train --out . --steps 5 --no-eval --overwrite");
    char *text = read_text(state, FOLDER "/metrics.jsonl");
    assert_int_equal(count_lines(text), 1);
    free(text);
    assert_true(lh_test_exists(lh_test_path(*state, FOLDER "/checkpoint-4.safetensors")));
}

static void test_train_keeps_checkpoints_of_named_steps(void **state) {
    toy.train.checkpoint_every = 1000;
    run_toy(state, 0, "train --out . --no-eval");
    run_toy(state, 0, "train --out four --no-eval --steps 4");
    lh_assert_same_file(*state, FOLDER "/checkpoint-4.safetensors", "four/" FOLDER "/checkpoint-4.safetensors");
    assert_false(lh_test_exists(lh_test_path(*state, FOLDER "/checkpoint-20.safetensors")));
    toy.train.keep_all = true;
    run_toy(state, 0, "train --out all --no-eval");
    assert_true(lh_test_exists(lh_test_path(*state, "all/" FOLDER "/checkpoint-20.safetensors")));
}

static void test_train_evaluates_during_training(void **state) {
    toy.eval.during_every = 8;
    run_toy(state, 0, "train --out . --no-eval");
    char *text = read_text(state, FOLDER "/eval.jsonl");
    assert_int_equal(count_lines(text), 4);
    assert_ptr_equal(text, strstr(text, "{\"step\":8,\"split\":\"during\",\"by\":{\"length\":7},\"examples\":5,"));
    free(text);
}

static void train_block_with_nan(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                                 lh_sums *sums) {
    toy_float.train_block(step, block, workspace, gradient, sums);
    if (step->step != 13) return;
    sums->loss = NAN;
    ((float *)gradient)[lh_toy_spec.tensors[TOY_OUTPUT].offset] = NAN;
}

static void test_message_of_a_nan_names_the_last_checkpoint(void **state) {
    lh_cpu_program program = toy_float;
    const lh_cpu_program *list[] = {&program, NULL};
    program.train_block = train_block_with_nan;
    toy.cpu = list;
    lh_run_result result = run_toy(state, 1, "train --out . --no-eval --threads 2");
    assert_non_null(strstr(result.err, "step 14: the loss is nan; no update was made"));
    assert_non_null(strstr(result.err, "the last good checkpoint is of step 10: ./" FOLDER "/checkpoint.safetensors"));
    assert_non_null(strstr(result.err, "parameters: every element is finite"));
    assert_non_null(
        strstr(result.err, "gradient: NaN or infinite in 1 of 7 tensors; the first is output.weight (1 of"));
    assert_non_null(strstr(result.err, "  hint: a lower --learning-rate\n"));
    char *text = read_text(state, FOLDER "/run.json");
    assert_non_null(strstr(text, "\"exit\":1}\n"));
    free(text);
}

static void train_first_block_with_nan(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace,
                                       void *gradient, lh_sums *sums) {
    toy_float.train_block(step, block, workspace, gradient, sums);
    ((float *)gradient)[lh_toy_spec.tensors[TOY_OUTPUT].offset] = NAN;
}

/* No update precedes the first step, so the message does not suggest a lower learning rate. */
static void test_message_of_a_nan_in_the_first_step_names_other_causes(void **state) {
    lh_cpu_program program = toy_float;
    const lh_cpu_program *list[] = {&program, NULL};
    program.train_block = train_first_block_with_nan;
    toy.cpu = list;
    lh_run_result result = run_toy(state, 1, "train --out . --no-eval");
    assert_non_null(strstr(result.err, "step 1: the gradient's norm is nan; no update was made"));
    assert_non_null(strstr(
        result.err, "there is no checkpoint yet\n  hint: the cause is not the learning rate, but a formula, such as "
                    "encoding.score, or the initial values; "));
    assert_null(strstr(result.err, "a lower --learning-rate"));
}

static void train_block_with_wild_gradient(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace,
                                           void *gradient, lh_sums *sums) {
    toy_float.train_block(step, block, workspace, gradient, sums);
    if (step->step == 150 || step->step == 160) ((float *)gradient)[lh_toy_spec.tensors[TOY_BIAS].offset] = 1e6f;
}

/* Clipping limits the damage, so the run warns once and trains to its end. */
static void test_wild_gradient_is_warned_of_once(void **state) {
    lh_cpu_program program = toy_float;
    const lh_cpu_program *list[] = {&program, NULL};
    program.train_block = train_block_with_wild_gradient;
    toy.cpu = list;
    lh_run_result result = run_toy(state, 0, "train --out . --no-eval --threads 2 --steps 170");
    const char *warning = strstr(result.err, "warning: step 151: the training may be diverging: the gradient's norm");
    assert_non_null(warning);
    assert_non_null(
        strstr(warning, "100% of the squared norm of this step's gradient comes from output.weight, output.bias\n"));
    assert_non_null(strstr(warning, "the last checkpoint is of step 150: ./" FOLDER "/checkpoint.safetensors"));
    assert_null(strstr(warning + 1, "warning"));
    result = run_toy(state, 0, "train --out . --no-eval --threads 2 --steps 149 --overwrite");
    assert_null(strstr(result.err, "warning"));
}

static void test_run_at_chance_is_reported(void **state) {
    lh_task task = *toy.task;
    task.chance = 0.97;
    toy.task = &task;
    lh_run_result result = run_toy(state, 0, "train --out . --no-eval --steps 60");
    assert_non_null(strstr(result.err, "at chance since step 0"));
    task.chance = 0.0;
    result = run_toy(state, 0, "train --out . --no-eval --steps 60 --overwrite");
    assert_null(strstr(result.err, "at chance"));
}

static void test_train_overfits_fixed_examples_or_explains_why_not(void **state) {
    lh_run_result result =
        run_toy(state, 0, "train --out . --overfit 1 --steps 20000 --learning-rate 0.02 --log-every 100 --threads 1");
    assert_non_null(strstr(result.out, "accuracy 1.0000"));
    result = run_toy(state, 1, "train --out . --overfit 8 --steps 100 --threads 1");
    assert_non_null(strstr(result.err, "--overfit 8: accuracy 0."));
    assert_non_null(strstr(result.err, "likely cause: too few steps: the loss is still falling"));
    assert_non_null(strstr(result.err, "hint: --steps "));
    assert_false(lh_test_exists(lh_test_path(*state, FOLDER)));
}

static void test_places_of_very_long_targets_are_refused_before_training(void **state) {
    toy.limit.tokens = 0;
    toy.eval.lengths = (lh_lengths){.first = 7, .last = 16385, .step = 16378}; /* lengths 7 and 16385 */
    toy.eval.places = true;
    lh_run_result result = run_toy(state, 1, "train --out runs --threads 1");
    assert_non_null(strstr(result.err, "accuracy by place: found targets of 16385 labels"));
    assert_false(lh_test_exists(lh_test_path(*state, "runs")));
    run_toy(state, 0, "train --out runs --threads 1 --no-eval");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_metrics_have_their_keys_in_order),
        RUN_TEST(test_line_is_in_the_file_before_the_next_step),
        RUN_TEST(test_metrics_of_generative_models_name_teacher_forcing),
        RUN_TEST(test_evaluation_lines_are_complete),
        RUN_TEST(test_run_json_is_complete),
        RUN_TEST(test_existing_run_is_refused),
        RUN_TEST(test_train_keeps_checkpoints_of_named_steps),
        RUN_TEST(test_train_evaluates_during_training),
        RUN_TEST(test_message_of_a_nan_names_the_last_checkpoint),
        RUN_TEST(test_message_of_a_nan_in_the_first_step_names_other_causes),
        RUN_TEST(test_wild_gradient_is_warned_of_once),
        RUN_TEST(test_run_at_chance_is_reported),
        RUN_TEST(test_places_of_very_long_targets_are_refused_before_training),
        RUN_TEST(test_train_overfits_fixed_examples_or_explains_why_not),
    };
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
