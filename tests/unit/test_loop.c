/* training/loop, training/run_files: the files of a run, resumption with equal bits, signals, NaN. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "lh_run.h"
#include "toy_program.h"
#include "training/run_files.h"
#include "training/window.h"

#define FOLDER "toy/0123456789abcdef/lr0.01-seed0"

static lh_spec toy;

static int make_toy(void **state) {
    toy = lh_toy_spec_with(toy_float_list);
    return lh_test_make_directory(state);
}

static lh_run_result run(void **state, int code, const char *command) {
    lh_run_result result = lh_run_main(&toy, *state, command, NULL);
    if (result.code != code) print_error("%s\n%s%s", command, result.out, result.err);
    assert_int_equal(result.code, code);
    return result;
}

static char *read_text(void **state, const char *name) {
    size_t bytes;
    return lh_test_read(lh_test_path(*state, name), &bytes);
}

static int count_lines(const char *text) {
    int lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

static void test_train_metrics_keys_in_order(void **state) {
    static const char *const keys[] = {
        "step",           "loss",        "accuracy",      "exact_match",      "grad_norm", "clipped_share",
        "parameter_norm", "update_norm", "learning_rate", "steps_per_second", "seconds"};
    run(state, 0, "train --out . --threads 1 --no-eval");
    char *text = read_text(state, FOLDER "/metrics.jsonl");
    assert_int_equal(count_lines(text), 4);
    json_t *line = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
    size_t at = 0;
    for (void *i = json_object_iter(line); i; i = json_object_iter_next(line, i))
        assert_string_equal(json_object_iter_key(i), keys[at++]);
    assert_int_equal(at, sizeof keys / sizeof *keys);
    assert_int_equal(json_integer_value(json_object_get(line, "step")), 5);
    assert_true(json_number_value(json_object_get(line, "steps_per_second")) > 0);
    json_decref(line);
    free(text);
}

/* A generative model reads its target before it answers; the key of its accuracy records this. */
static void test_train_metrics_of_generative_models(void **state) {
    toy = lh_toy_pair_with(toy_float_list);
    lh_run_result result = run(state, 0, "train --out . --no-eval --steps 10");
    assert_non_null(strstr(result.err, "  teacher-forced 0."));
    char *text = read_text(state, "toy_pair/0123456789abcdef/lr0.01-seed0/metrics.jsonl");
    assert_int_equal(count_lines(text), 2);
    assert_non_null(strstr(text, "\"accuracy_teacher_forced\":0."));
    assert_null(strstr(text, "\"accuracy\":"));
    free(text);
}

static void test_train_eval_lines_complete(void **state) {
    lh_run_result result = run(state, 0, "train --out . --threads 2");
    assert_non_null(strstr(result.out, "all beyond"));
    char *text = read_text(state, FOLDER "/eval.jsonl");
    assert_int_equal(count_lines(text), 3);
    assert_ptr_equal(text, strstr(text, "{\"step\":20,\"split\":\"beyond\",\"by\":{\"length\":7},\"examples\":10,"
                                        "\"draws\":1,\"accuracy\":"));
    free(text);
}

static void test_train_run_json_complete(void **state) {
    run(state, 0, "train --out . --threads 1 --no-eval --seed 0");
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
    json_decref(facts);
    free(text);
}

/* Steps 13 and 17 lie inside windows of 5. */
static void test_train_resumed_same_bits_and_lines(void **state) {
    run(state, 0, "train --out whole --steps 30 --threads 1 --no-eval");
    run(state, 0, "train --out parts --steps 13 --threads 2 --no-eval");
    run(state, 0, "train --out parts --steps 17 --threads 3 --no-eval --resume");
    run(state, 0, "train --out parts --steps 30 --threads 1 --no-eval --resume");
    lh_assert_same_file(*state, "whole/" FOLDER "/checkpoint.safetensors", "parts/" FOLDER "/checkpoint.safetensors");
    lh_assert_same_lines(*state, "whole/" FOLDER "/metrics.jsonl", "parts/" FOLDER "/metrics.jsonl");
}

/* The value of a key in line `number`, from 0, of metrics.jsonl. */
static double metric(void **state, const char *name, int number, const char *key) {
    char *text = read_text(state, name), *rest = text;
    while (number-- > 0) strsep(&rest, "\n");
    json_t *line = json_loads(strsep(&rest, "\n"), 0, NULL);
    assert_true(json_is_number(json_object_get(line, key)));
    double value = json_number_value(json_object_get(line, key));
    json_decref(line);
    free(text);
    return value;
}

/* Step 13 lies inside a window of 5, step 20 at the end of one. */
static void test_train_seconds_go_on_after_resume(void **state) {
    const char *metrics = FOLDER "/metrics.jsonl";
    double before = 0;
    run(state, 0, "train --out . --steps 13 --threads 1 --no-eval");
    double first = metric(state, metrics, 1, "seconds");
    run(state, 0, "train --out . --steps 20 --threads 1 --no-eval --resume");
    assert_true(metric(state, metrics, 1, "seconds") == first);
    double at_20 = metric(state, FOLDER "/run.json", 0, "train_seconds");
    run(state, 0, "train --out . --steps 40 --threads 1 --resume");
    for (int i = 0; i < 8; i++) {
        double seconds = metric(state, metrics, i, "seconds");
        assert_true(seconds > before);
        before = seconds;
    }
    assert_true(metric(state, metrics, 3, "seconds") == at_20);
    assert_true(metric(state, FOLDER "/run.json", 0, "train_seconds") == before);
}

static void test_train_resume_drops_lines_beyond_checkpoint(void **state) {
    char path[512];
    run(state, 0, "train --out whole --steps 20 --no-eval");
    run(state, 0, "train --out cut --steps 10 --no-eval");
    snprintf(path, sizeof path, "%s", lh_test_path(*state, "cut/" FOLDER "/metrics.jsonl"));
    FILE *file = fopen(path, "a");
    fputs("{\"step\":15,\"loss\":99}\n{\"step\":2", file);
    fclose(file);
    lh_run_result result = run(state, 0, "train --out cut --steps 20 --no-eval --resume");
    assert_non_null(strstr(result.err, "torn"));
    assert_non_null(strstr(result.err, "resuming at step 10"));
    lh_assert_same_lines(*state, "whole/" FOLDER "/metrics.jsonl", "cut/" FOLDER "/metrics.jsonl");
}

/* A pipe without a writer replaces each file that a trainer reads; reading it would wait for ever. */
static void test_pipes_in_place_of_files_named(void **state) {
    static const struct {
        const char *name, *command, *says;
        int code;
    } cases[] = {
        {"checkpoint.safetensors", "train --out . --steps 9 --no-eval --resume", "is a pipe, expected a file; going on",
         0},
        {"metrics.jsonl", "train --out . --steps 9 --no-eval --resume", "metrics.jsonl: is a pipe", 1},
        {"eval.jsonl", "train --out . --steps 9 --no-eval --resume", "eval.jsonl: is a pipe", 1},
        {"window.jsonl", "train --out . --steps 9 --no-eval --resume", "window.jsonl: is a pipe", 1},
        {"lock", "train --out . --steps 9 --no-eval --resume", "lock: is a pipe", LH_ERR_ENVIRONMENT},
        {"run.json", "train --out . --steps 9 --no-eval --missing", "run.json: is a pipe", 1},
        {"checkpoint.safetensors", "train --out init --init " FOLDER "/checkpoint.safetensors", "is a pipe", 1},
        {"checkpoint.safetensors", "eval --out e --checkpoint " FOLDER "/checkpoint.safetensors", "is a pipe", 1},
        {"checkpoint.safetensors", "predict --checkpoint " FOLDER "/checkpoint.safetensors", "is a pipe", 1},
    };
    alarm(120);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/" FOLDER "/%s", (char *)*state, cases[i].name);
        run(state, 0, "train --out . --steps 8 --checkpoint-every 4 --no-eval --overwrite");
        unlink(path);
        assert_int_equal(mkfifo(path, 0600), 0);
        lh_run_result result = run(state, cases[i].code, cases[i].command);
        if (strstr(result.err, cases[i].says) == NULL) print_error("%s: got: %s\n", cases[i].name, result.err);
        assert_non_null(strstr(result.err, cases[i].says));
        unlink(path);
    }
    alarm(0);
}

/* Checks that a resume warns with `says` and continues to the same bits if this file has `text` (NULL: is missing). */
static void check_damaged_log(void **state, const char *name, const char *text, const char *says) {
    char path[512];
    snprintf(path, sizeof path, "%s/cut/" FOLDER "/%s", (char *)*state, name);
    run(state, 0, "train --out cut --steps 13 --no-eval --overwrite");
    if (text != NULL) lh_test_write(path, text, strlen(text));
    else unlink(path);
    lh_run_result result = run(state, 0, "train --out cut --steps 20 --no-eval --resume");
    if (strstr(result.err, says) == NULL) print_error("%s: got: %s\n", name, result.err);
    assert_non_null(strstr(result.err, says));
    assert_non_null(strstr(result.err, "warning: "));
    lh_assert_same_file(*state, "whole/" FOLDER "/checkpoint.safetensors", "cut/" FOLDER "/checkpoint.safetensors");
    result = run(state, 0, "train --out cut --steps 21 --no-eval --resume"); /* reported once */
    assert_null(strstr(result.err, "warning: "));
}

/* Metrics of steps 5 and 10, evaluations of two lengths at steps 6 and 12, a window at the checkpoint of step 13. */
static void test_train_resume_tells_lost_lines(void **state) {
    toy.eval.during_every = 6;
    toy.eval.during_lengths = (lh_lengths){NULL, 0, 5, 6, 1};
    toy.eval.during_examples = 4;
    run(state, 0, "train --out whole --steps 20 --no-eval");
    check_damaged_log(state, "metrics.jsonl", NULL, "metrics.jsonl: is gone: 0 of 2 lines up to step 13");
    check_damaged_log(state, "metrics.jsonl", "", "metrics.jsonl: has 0 of 2 lines up to step 13");
    check_damaged_log(state, "metrics.jsonl", "{\"step\":5}\n{\"st", "metrics.jsonl: has 1 of 2 lines");
    check_damaged_log(state, "eval.jsonl", NULL, "eval.jsonl: is gone: 0 of 4 lines up to step 13");
    check_damaged_log(state, "eval.jsonl", "{\"step\":6}\n", "eval.jsonl: has 1 of 4 lines up to step 13");
    check_damaged_log(state, "window.jsonl", NULL, "window.jsonl: is gone, expected a line of step 13");
    check_damaged_log(state, "window.jsonl", "", "window.jsonl: is empty, expected a line of step 13");
    check_damaged_log(state, "window.jsonl", "{\"step\":13,\"steps\":3}\n", "window.jsonl: is short, expected");
}

static void test_train_existing_run_refused(void **state) {
    run(state, 0, "train --out . --no-eval");
    lh_run_result result = run(state, 1, "train --out . --no-eval");
    assert_non_null(strstr(result.err, "--resume"));
    assert_non_null(strstr(result.err, "--overwrite"));
    run(state, 0, "train --out . --steps 5 --no-eval --overwrite");
    char *text = read_text(state, FOLDER "/metrics.jsonl");
    assert_int_equal(count_lines(text), 1);
    free(text);
    assert_false(lh_test_exists(lh_test_path(*state, FOLDER "/checkpoint.previous.safetensors")) &&
                 !lh_test_exists(lh_test_path(*state, FOLDER "/checkpoint-4.safetensors")));
}

static void test_train_resume_without_run_starts(void **state) {
    run(state, 0, "train --out . --no-eval --resume");
    assert_true(lh_test_exists(lh_test_path(*state, FOLDER "/checkpoint.safetensors")));
    lh_run_result result = run(state, 1, "train --out . --no-eval --resume --steps 5");
    assert_non_null(strstr(result.err, "step 20"));
}

static const char *const other_plan = "aaaaaaaaaaaaaaaa";

/* Resumes a plan that has no run, next to a plan with one; returns its stderr. */
static char *resume_another_plan(void **state) {
    lh_run_result result = run(state, 0, "train --out . --no-eval --steps 5 --resume");
    assert_non_null(strstr(result.err, "aaaaaaaaaaaaaaaa/lr0.01-seed0: nothing to resume, it starts at step 0\n"));
    char path[512];
    snprintf(path, sizeof path, "rm -r %s/toy/%s", (char *)*state, other_plan);
    char *said = strdup(result.err);
    assert_int_equal(system(path), 0);
    return said;
}

static void test_train_resume_after_edit_tells_what_differs(void **state) {
    toy.resolved =
        "{\"id\":\"toy\",\"model\":{\"heads\":2,\"width\":8},\"source\":\"a\",\"train\":{\"rate\":0.1,\"x\":1}}";
    run(state, 0, "train --out . --no-eval --steps 10");
    toy.resolved =
        "{\"id\":\"toy\",\"model\":{\"heads\":2,\"width\":16},\"source\":\"b\",\"train\":{\"rate\":[1],\"y\":2}}";
    toy.plan_digest = other_plan;
    char *said = resume_another_plan(state);
    const char *list = strstr(said, "  there is ./" FOLDER ", of another plan:\n");
    assert_non_null(list);
    list = strchr(list, '\n') + 1;
    const char *want = "    model.width: 8 there, 16 here\n"
                       "    train.rate: 0.1 there, [1] here\n"
                       "    train.x: 1 there, absent here\n"
                       "    train.y: absent there, 2 here\n"
                       "  hint: ";
    assert_int_equal(strncmp(list, want, strlen(want)), 0);
    free(said);
    lh_run_result result = run(state, 0, "train --out . --no-eval --steps 5 --missing"); /* --missing reports nothing */
    assert_null(strstr(result.err, "nothing to resume"));
    result = run(state, 0, "train --out . --no-eval --steps 5 --seed 7 --resume");
    assert_non_null(
        strstr(result.err, "there is ./toy/aaaaaaaaaaaaaaaa/lr0.01-seed0, of another learning rate or seed"));
    result = run(state, 0, "train --out . --no-eval --steps 6 --seeds 6:7 --resume");
    assert_non_null(strstr(result.err, "1 of 2 runs have nothing to resume, they start at step 0"));
}

/* Content of another run's run.json is read up to a limit and printed without control characters. */
static void test_train_resume_beside_hostile_folder_goes_on(void **state) {
    enum { LONG = LH_MOST_FACTS + 1, DEEP = 100000 };
    char path[512], *text = malloc(LONG), *said;
    assert_non_null(text);
    snprintf(path, sizeof path, "%s/" FOLDER "/run.json", (char *)*state);
    run(state, 0, "train --out . --no-eval --steps 10");
    toy.plan_digest = other_plan;
    memset(text, ' ', LONG);
    memcpy(text, "{\"spec\":{}}", 11);
    lh_test_write(path, text, LONG);
    assert_non_null(strstr(said = resume_another_plan(state), "no spec to compare with"));
    free(said);
    memset(text, '[', DEEP);
    lh_test_write(path, text, DEEP);
    assert_non_null(strstr(said = resume_another_plan(state), "no spec to compare with"));
    free(said);
    free(text);
    const char *codes = "{\"spec\":{\"a\\u001b[2J\\n\":\"\\u001b]0;x\\u0007\",\"b\":{},\"c\":null,\"d\":1e300}}";
    lh_test_write(path, codes, strlen(codes));
    said = resume_another_plan(state);
    assert_non_null(
        strstr(said, "    a?[2J?: \"\\u001B]0;x\\u0007\" there, absent here\n    b: {} there, absent here\n"));
    assert_null(strchr(said, '\033'));
    free(said);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(60);
    assert_non_null(strstr(said = resume_another_plan(state), "no spec to compare with"));
    alarm(0);
    free(said);
}

static void test_train_resume_evaluates_only_missing(void **state) {
    run(state, 0, "train --out .");
    char *before = read_text(state, FOLDER "/eval.jsonl");
    run(state, 0, "train --out . --resume");
    char *after = read_text(state, FOLDER "/eval.jsonl");
    assert_string_equal(before, after);
    free(after);
    lh_test_write(lh_test_path(*state, FOLDER "/eval.jsonl"), before, (size_t)(strchr(before, '\n') - before + 1));
    run(state, 0, "train --out . --resume");
    after = read_text(state, FOLDER "/eval.jsonl");
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void test_train_keeps_named_steps(void **state) {
    toy.train.checkpoint_every = 1000;
    run(state, 0, "train --out . --no-eval");
    run(state, 0, "train --out four --no-eval --steps 4");
    lh_assert_same_file(*state, FOLDER "/checkpoint-4.safetensors", "four/" FOLDER "/checkpoint-4.safetensors");
    assert_false(lh_test_exists(lh_test_path(*state, FOLDER "/checkpoint-20.safetensors")));
    toy.train.keep_all = true;
    run(state, 0, "train --out all --no-eval");
    assert_true(lh_test_exists(lh_test_path(*state, "all/" FOLDER "/checkpoint-20.safetensors")));
}

static void test_train_evaluates_during(void **state) {
    toy.eval.during_every = 8;
    run(state, 0, "train --out . --no-eval");
    char *text = read_text(state, FOLDER "/eval.jsonl");
    assert_int_equal(count_lines(text), 4);
    assert_ptr_equal(text, strstr(text, "{\"step\":8,\"split\":\"during\",\"by\":{\"length\":7},\"examples\":5,"));
    free(text);
}

static void nan_train_block(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                            lh_sums *sums) {
    toy_float.train_block(step, block, workspace, gradient, sums);
    if (step->step != 13) return;
    sums->loss = NAN;
    ((float *)gradient)[lh_toy_spec.tensors[TOY_OUTPUT].offset] = NAN;
}

static void test_train_nan_tells_last_checkpoint(void **state) {
    lh_cpu_program program = toy_float;
    const lh_cpu_program *list[] = {&program, NULL};
    program.train_block = nan_train_block;
    toy.cpu = list;
    lh_run_result result = run(state, 1, "train --out . --no-eval --threads 2");
    assert_non_null(strstr(result.err, "step 14: the loss is nan; no update was made"));
    assert_non_null(strstr(result.err, "the last good checkpoint is of step 10: ./" FOLDER "/checkpoint.safetensors"));
    assert_non_null(strstr(result.err, "parameters: every element is finite"));
    assert_non_null(
        strstr(result.err, "gradient: NaN or infinite in 1 of 7 tensors; the first is output.weight (1 of"));
    char *text = read_text(state, FOLDER "/run.json");
    assert_non_null(strstr(text, "\"exit\":1"));
    free(text);
}

static void wild_train_block(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace, void *gradient,
                             lh_sums *sums) {
    toy_float.train_block(step, block, workspace, gradient, sums);
    if (step->step == 150 || step->step == 160) ((float *)gradient)[lh_toy_spec.tensors[TOY_BIAS].offset] = 1e6f;
}

/* Clipping limits the damage: the run warns once and trains to its end. */
static void test_train_wild_gradient_warned_once(void **state) {
    lh_cpu_program program = toy_float;
    const lh_cpu_program *list[] = {&program, NULL};
    program.train_block = wild_train_block;
    toy.cpu = list;
    lh_run_result result = run(state, 0, "train --out . --no-eval --threads 2 --steps 170");
    const char *warning =
        strstr(result.err, "warning: step 151: the training may be running away: the gradient's norm");
    assert_non_null(warning);
    assert_non_null(strstr(warning, "100% of its gradient's square lies in output.weight, output.bias\n"));
    assert_non_null(strstr(warning, "the last checkpoint is of step 150: ./" FOLDER "/checkpoint.safetensors"));
    assert_null(strstr(warning + 1, "warning"));
    result = run(state, 0, "train --out . --no-eval --threads 2 --steps 149 --overwrite");
    assert_null(strstr(result.err, "warning"));
}

/* Checks that two checkpoints have equal parameters, by equal scores. */
static void assert_same_parameters(void **state, const char *a, const char *b) {
    char command[300];
    snprintf(command, sizeof command, "eval --checkpoint %s/checkpoint.safetensors --out x --lengths 7", a);
    run(state, 0, command);
    snprintf(command, sizeof command, "eval --checkpoint %s/checkpoint.safetensors --out y --lengths 7", b);
    run(state, 0, command);
    char *x = read_text(state, "x/eval.jsonl"), *y = read_text(state, "y/eval.jsonl");
    assert_string_equal(strstr(x, "\"split\""), strstr(y, "\"split\""));
    free(x);
    free(y);
}

static void test_train_init_starts_from_parameters(void **state) {
    run(state, 0, "train --out a --steps 10 --no-eval");
    run(state, 0, "train --out b --steps 0 --no-eval --init a/" FOLDER "/checkpoint.safetensors");
    assert_same_parameters(state, "a/" FOLDER, "b/" FOLDER);
    lh_run_result result = run(state, 1, "train --out c --init nowhere --no-eval");
    assert_non_null(strstr(result.err, "nowhere"));
    assert_false(lh_test_exists(lh_test_path(*state, "c")));
}

/* The file is read before the first run of a group begins, since that run may overwrite it. */
static void test_train_begins_with_what_it_overwrites(void **state) {
    run(state, 0, "train --out a --steps 10 --no-eval");
    run(state, 0, "train --out b --steps 10 --no-eval");
    run(state, 0, "train --out want --steps 5 --no-eval --seeds 1:1 --init a/" FOLDER "/checkpoint.safetensors");
    run(state, 0, "train --out a --steps 0 --no-eval --overwrite --init a/" FOLDER "/checkpoint.safetensors");
    assert_same_parameters(state, "a/" FOLDER, "b/" FOLDER);
    run(state, 0,
        "train --out b --steps 5 --no-eval --threads 1 --seeds 0:1 --overwrite --init b/" FOLDER
        "/checkpoint.safetensors");
    assert_same_parameters(state, "want/toy/0123456789abcdef/lr0.01-seed1", "b/toy/0123456789abcdef/lr0.01-seed1");
}

/* A run without a checkpoint starts from the init file, which must be valid before any file is written. */
static void test_train_resume_without_checkpoint_needs_its_init(void **state) {
    static const char *const flags[] = {"--resume", "--missing"};
    for (int i = 0; i < 2; i++) {
        char command[100];
        snprintf(command, sizeof command, "train --out c %s --init nowhere --no-eval", flags[i]);
        lh_run_result result = run(state, 1, command);
        assert_non_null(strstr(result.err, "nowhere"));
        assert_false(lh_test_exists(lh_test_path(*state, "c/" FOLDER "/run.json")));
    }
    run(state, 0, "train --out a --steps 10 --no-eval");
    run(state, 0, "train --out c --steps 0 --no-eval --resume --init a/" FOLDER "/checkpoint.safetensors");
    assert_same_parameters(state, "a/" FOLDER, "c/" FOLDER);
}

/* Reads the checksum in a checkpoint's metadata. */
static void read_checksum(void **state, const char *name, char sum[17]) {
    static const char key[] = "\"checksum\":\"";
    size_t bytes;
    char *text = lh_test_read(lh_test_path(*state, name), &bytes);
    char *found = memmem(text, bytes, key, sizeof key - 1);
    assert_non_null(found);
    memcpy(sum, found + sizeof key - 1, 16);
    sum[16] = 0;
    free(text);
}

/* Without a flag, training starts from the file on which the plan depends, in any folder; another file is refused,
 * and no file is changed. */
static void test_train_planned_init_is_begun_with_alone(void **state) {
    char sum[17];
    run(state, 0, "train --out a --steps 10 --no-eval");
    run(state, 0, "train --out other --steps 5 --no-eval");
    read_checksum(state, "a/" FOLDER "/checkpoint.safetensors", sum);
    toy.train.init = "a/" FOLDER "/checkpoint.safetensors";
    toy.train.init_checksum = sum;
    run(state, 0, "train --out b --steps 0 --no-eval");
    assert_same_parameters(state, "a/" FOLDER, "b/" FOLDER);
    char *x = read_text(state, "b/" FOLDER "/run.json"), *y;
    assert_non_null(strstr(x, "\"init\":\"a/" FOLDER "/checkpoint.safetensors\",\"init_checksum\":\""));
    lh_run_result result =
        run(state, 1, "train --out b --steps 0 --no-eval --overwrite --init other/" FOLDER "/checkpoint.safetensors");
    assert_non_null(strstr(result.err, "cannot begin with it: its checksum is"));
    assert_non_null(strstr(result.err, sum));
    y = read_text(state, "b/" FOLDER "/run.json");
    assert_string_equal(x, y);
    free(x);
    free(y);
    toy.train.init = "gone";
    run(state, 1, "train --out c --steps 0 --no-eval");
    run(state, 0, "train --out c --steps 0 --no-eval --init a/" FOLDER "/checkpoint.safetensors");
    run(state, 0, "train --out c --steps 3 --no-eval --resume"); /* a resume does not need the file */
}

static void test_train_at_chance_said(void **state) {
    lh_task task = *toy.task;
    task.chance = 0.97;
    toy.task = &task;
    lh_run_result result = run(state, 0, "train --out . --no-eval --steps 60");
    assert_non_null(strstr(result.err, "at chance since step 0"));
    task.chance = 0.0;
    result = run(state, 0, "train --out . --no-eval --steps 60 --overwrite");
    assert_null(strstr(result.err, "at chance"));
}

static void test_train_overfit(void **state) {
    lh_run_result result =
        run(state, 0, "train --out . --overfit 1 --steps 20000 --learning-rate 0.02 --log-every 100 --threads 1");
    assert_non_null(strstr(result.out, "accuracy 1.0000"));
    result = run(state, 1, "train --out . --overfit 8 --steps 100 --threads 1");
    assert_non_null(strstr(result.err, "--overfit 8: accuracy 0."));
    assert_non_null(strstr(result.err, "likely cause: too few steps: the loss is still falling"));
    assert_non_null(strstr(result.err, "hint: --steps "));
    assert_false(lh_test_exists(lh_test_path(*state, FOLDER)));
}

static pid_t start_training(void **state, const char *command) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(lh_run_main(&toy, *state, command, NULL).code);
    return child;
}

static void wait_for_file(const char *path) {
    for (int i = 0; i < 4000 && !lh_test_exists(path); i++) usleep(5000);
    assert_true(lh_test_exists(path));
}

static int64_t step_of_last_line(void **state) {
    char *text = read_text(state, FOLDER "/metrics.jsonl"), *last = text;
    for (char *at = text; (at = strstr(at, "{\"step\":")); at++) last = at;
    int64_t step = atoll(last + strlen("{\"step\":"));
    free(text);
    return step;
}

static void check_signal(void **state, int number) {
    int status;
    char command[128];
    void (*before)(int) = signal(number, SIG_DFL); /* SIGHUP is ignored if the suite runs under nohup */
    pid_t child = start_training(state, "train --out . --steps 4294967295 --threads 1 --no-eval --log-every 7");
    signal(number, before);
    wait_for_file(lh_test_path(*state, FOLDER "/metrics.jsonl"));
    usleep(50000);
    assert_int_equal(kill(child, number), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), LH_STOPPED);
    char *facts = read_text(state, FOLDER "/run.json");
    assert_non_null(strstr(facts, "\"exit\":75"));
    free(facts);
    long long steps = step_of_last_line(state) + 100;
    snprintf(command, sizeof command, "train --out . --steps %lld --threads 2 --no-eval --log-every 7 --resume", steps);
    run(state, 0, command);
    snprintf(command, sizeof command, "train --out whole --steps %lld --threads 1 --no-eval --log-every 7", steps);
    run(state, 0, command);
    lh_assert_same_file(*state, FOLDER "/checkpoint.safetensors", "whole/" FOLDER "/checkpoint.safetensors");
    lh_assert_same_lines(*state, FOLDER "/metrics.jsonl", "whole/" FOLDER "/metrics.jsonl");
}

static void test_train_sigterm_writes_checkpoint(void **state) { check_signal(state, SIGTERM); }

static void test_train_sigusr1_writes_checkpoint(void **state) { check_signal(state, SIGUSR1); }

static void test_train_sigint_writes_checkpoint(void **state) { check_signal(state, SIGINT); }

static void test_train_sighup_writes_checkpoint(void **state) { check_signal(state, SIGHUP); }

/* As under nohup, SIGHUP does not end the run, but SIGTERM does. */
static void test_train_ignored_sighup_stays_ignored(void **state) {
    int status;
    signal(SIGHUP, SIG_IGN);
    pid_t child = start_training(state, "train --out . --steps 4294967295 --threads 1 --no-eval --log-every 7");
    signal(SIGHUP, SIG_DFL);
    wait_for_file(lh_test_path(*state, FOLDER "/metrics.jsonl"));
    assert_int_equal(kill(child, SIGHUP), 0);
    usleep(50000);
    unlink(lh_test_path(*state, FOLDER "/metrics.jsonl"));
    wait_for_file(lh_test_path(*state, FOLDER "/metrics.jsonl"));
    assert_int_equal(kill(child, SIGTERM), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == LH_STOPPED);
}

static void test_train_second_process_refused(void **state) {
    int status;
    pid_t child = start_training(state, "train --out . --steps 4294967295 --threads 1 --no-eval");
    wait_for_file(lh_test_path(*state, FOLDER "/metrics.jsonl"));
    run(state, LH_ERR_ENVIRONMENT, "train --out . --no-eval --resume");
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    run(state, 0, "train --out . --no-eval --steps 4294967295 --overfit 1 --learning-rate 0.02 --threads 1");
}

/* Batches of 4, 4 and 2 examples have equal weights; an epoch whose start was not recorded has no mean. */
static void test_window_epoch_is_the_mean_of_its_batches(void **state) {
    (void)state;
    static const int64_t correct[] = {4, 1, 1}, counted[] = {4, 4, 2};
    lh_window window = {0};
    for (int64_t step = 1; step <= 7; step++) {
        int batch = (int)((step - 1) % 3);
        lh_step_metrics metrics = {.sums = {.correct = correct[batch], .counted = counted[batch]}};
        lh_window_add(&window, &metrics);
        lh_window_add_to_epoch(&window, &metrics, step, 3);
        assert_int_equal(window.epoch.last, step / 3);
        lh_window_clear(&window);
    }
    assert_true(fabs(window.epoch.accuracy - (1 + 0.25 + 0.5) / 3) < 1e-15);
    assert_int_equal(window.epoch.steps, 1);
    window.epoch = (lh_window_epoch){0};
    lh_step_metrics late = {.sums = {.correct = 1, .counted = 1}};
    for (int64_t step = 8; step <= 9; step++) lh_window_add_to_epoch(&window, &late, step, 3);
    assert_int_equal(window.epoch.last, 0);
    assert_int_equal(window.epoch.steps, 0);
}

/* Batches with all labels masked do not enter the mean of an epoch. */
static void test_window_epoch_leaves_out_batches_of_masks_alone(void **state) {
    static const int64_t correct[] = {4, 0, 1}, counted[] = {4, 0, 2};
    lh_window window = {0};
    (void)state;
    for (int64_t step = 1; step <= 3; step++) {
        lh_step_metrics metrics = {.sums = {.correct = correct[step - 1], .counted = counted[step - 1]}};
        lh_window_add_to_epoch(&window, &metrics, step, 3);
    }
    assert_int_equal(window.epoch.last, 1);
    assert_int_equal(window.epoch.masked, 0);
    assert_true(fabs(window.epoch.accuracy - (1 + 0.5) / 2) < 1e-15);
    lh_step_metrics none = {.sums = {.counted = 0}};
    for (int64_t step = 4; step <= 6; step++) lh_window_add_to_epoch(&window, &none, step, 3);
    assert_int_equal(window.epoch.last, 1);
}

/* A line of metrics.jsonl for steps without counted labels has neither loss nor accuracy. */
static void test_window_log_without_a_label_that_counts(void **state) {
    lh_error error;
    const char *path = lh_test_path(*state, "metrics.jsonl");
    lh_window window = {.steps = 2, .masked = 2, .parameter_norm = 4, .seconds = 1};
    char *text;
    size_t bytes;
    lh_assert_ok(lh_window_log(&window, path, 2, false, 0.5, 10, &error), &error);
    lh_assert_ok(lh_read_file(path, &text, &bytes, &error), &error);
    assert_non_null(strstr(text, "{\"step\":2,\"grad_norm\":0,"));
    assert_non_null(strstr(text, "\"parameter_norm\":2,"));
    assert_null(strstr(text, "loss"));
    free(text);
}

static void test_window_save_load_same_sums(void **state) {
    lh_error error;
    const char *path = lh_test_path(*state, "window.jsonl");
    lh_window window = {3, 1, 0.1, 1.0 / 3.0, 0, 1e-300, 2, 1e17, 0.1 + 0.2, 7.25, 40, 2, {5, 2, 2.5, 3, 0.1}},
              other = window, back;
    bool found;
    other.loss = 5;
    other.masked = 0;
    other.epoch = (lh_window_epoch){0};
    lh_assert_ok(lh_window_save(&other, path, 12, &error), &error);
    lh_assert_ok(lh_window_save(&window, path, 13, &error), &error);
    lh_assert_ok(lh_window_load(&back, path, 13, &found, &error), &error);
    assert_true(found);
    assert_memory_equal(&window, &back, sizeof window);
    lh_assert_ok(lh_window_load(&back, path, 12, &found, &error), &error);
    assert_memory_equal(&other, &back, sizeof other);
    lh_assert_ok(lh_window_load(&back, path, 14, &found, &error), &error);
    assert_false(found);
    assert_int_equal(back.steps, 0);
}

#define RUN_TEST(function) cmocka_unit_test_setup_teardown(function, make_toy, lh_test_remove_directory)

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_train_metrics_keys_in_order),
        RUN_TEST(test_train_metrics_of_generative_models),
        RUN_TEST(test_train_eval_lines_complete),
        RUN_TEST(test_train_run_json_complete),
        RUN_TEST(test_train_resumed_same_bits_and_lines),
        RUN_TEST(test_train_seconds_go_on_after_resume),
        RUN_TEST(test_train_resume_drops_lines_beyond_checkpoint),
        RUN_TEST(test_pipes_in_place_of_files_named),
        RUN_TEST(test_train_resume_tells_lost_lines),
        RUN_TEST(test_train_existing_run_refused),
        RUN_TEST(test_train_resume_without_run_starts),
        RUN_TEST(test_train_resume_after_edit_tells_what_differs),
        RUN_TEST(test_train_resume_beside_hostile_folder_goes_on),
        RUN_TEST(test_train_resume_evaluates_only_missing),
        RUN_TEST(test_train_keeps_named_steps),
        RUN_TEST(test_train_evaluates_during),
        RUN_TEST(test_train_nan_tells_last_checkpoint),
        RUN_TEST(test_train_wild_gradient_warned_once),
        RUN_TEST(test_train_init_starts_from_parameters),
        RUN_TEST(test_train_begins_with_what_it_overwrites),
        RUN_TEST(test_train_resume_without_checkpoint_needs_its_init),
        RUN_TEST(test_train_planned_init_is_begun_with_alone),
        RUN_TEST(test_train_at_chance_said),
        RUN_TEST(test_train_overfit),
        RUN_TEST(test_train_sigterm_writes_checkpoint),
        RUN_TEST(test_train_sigusr1_writes_checkpoint),
        RUN_TEST(test_train_sigint_writes_checkpoint),
        RUN_TEST(test_train_sighup_writes_checkpoint),
        RUN_TEST(test_train_ignored_sighup_stays_ignored),
        RUN_TEST(test_train_second_process_refused),
        RUN_TEST(test_window_epoch_is_the_mean_of_its_batches),
        RUN_TEST(test_window_epoch_leaves_out_batches_of_masks_alone),
        RUN_TEST(test_window_log_without_a_label_that_counts),
        RUN_TEST(test_window_save_load_same_sums),
    };
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
