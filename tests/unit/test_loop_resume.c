/* training/loop, training/run_files: a resumed run continues with equal bits, and reports lost lines and runs
 * of other plans. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "toy_runs.h"
#include "training/run_files.h"

/* Steps 13 and 17 lie inside windows of 5. */
static void test_resumed_run_has_the_same_bits_and_lines(void **state) {
    run_toy(state, 0, "train --out whole --steps 30 --threads 1 --no-eval");
    run_toy(state, 0, "train --out parts --steps 13 --threads 2 --no-eval");
    run_toy(state, 0, "train --out parts --steps 17 --threads 3 --no-eval --resume");
    run_toy(state, 0, "train --out parts --steps 30 --threads 1 --no-eval --resume");
    lh_assert_same_file(*state, "whole/" FOLDER "/checkpoint.safetensors", "parts/" FOLDER "/checkpoint.safetensors");
    lh_assert_same_lines(*state, "whole/" FOLDER "/metrics.jsonl", "parts/" FOLDER "/metrics.jsonl");
}

/* Lengths are mixed, under a curriculum whose stage ends at step 15. */
static void test_resumed_run_of_mixed_lengths_has_the_same_bits(void **state) {
    static const lh_curriculum_stage stage = {.until_step = 15, .longest = 3};
    toy.train.mixes_lengths = true;
    toy.train.curriculum = &stage;
    toy.train.curriculum_count = 1;
    run_toy(state, 0, "train --out whole --steps 20 --threads 1 --no-eval");
    run_toy(state, 0, "train --out parts --steps 13 --threads 3 --no-eval");
    run_toy(state, 0, "train --out parts --steps 20 --threads 2 --no-eval --resume");
    lh_assert_same_file(*state, "whole/" FOLDER "/checkpoint.safetensors", "parts/" FOLDER "/checkpoint.safetensors");
    lh_assert_same_lines(*state, "whole/" FOLDER "/metrics.jsonl", "parts/" FOLDER "/metrics.jsonl");
}

/* Reads the number at a key from a line of one of the run's files. index: index of the line, from 0. */
static double read_metric(void **state, const char *name, int index, const char *key) {
    char *text = read_text(state, name), *cursor = text;
    while (index-- > 0) strsep(&cursor, "\n");
    json_t *line = json_loads(strsep(&cursor, "\n"), 0, NULL);
    assert_true(json_is_number(json_object_get(line, key)));
    double value = json_number_value(json_object_get(line, key));
    json_decref(line);
    free(text);
    return value;
}

/* Step 13 lies inside a window of 5, step 20 at the end of a window. */
static void test_seconds_continue_after_resume(void **state) {
    const char *metrics = FOLDER "/metrics.jsonl";
    double previous_seconds = 0;
    run_toy(state, 0, "train --out . --steps 13 --threads 1 --no-eval");
    double first = read_metric(state, metrics, 1, "seconds");
    run_toy(state, 0, "train --out . --steps 20 --threads 1 --no-eval --resume");
    assert_true(read_metric(state, metrics, 1, "seconds") == first);
    double at_20 = read_metric(state, FOLDER "/run.json", 0, "train_seconds");
    run_toy(state, 0, "train --out . --steps 40 --threads 1 --resume");
    for (int i = 0; i < 8; i++) {
        double seconds = read_metric(state, metrics, i, "seconds");
        assert_true(seconds > previous_seconds);
        previous_seconds = seconds;
    }
    assert_true(read_metric(state, metrics, 3, "seconds") == at_20);
    assert_true(read_metric(state, FOLDER "/run.json", 0, "train_seconds") == previous_seconds);
}

static void test_resume_drops_lines_beyond_checkpoint(void **state) {
    char path[512];
    run_toy(state, 0, "train --out whole --steps 20 --no-eval");
    run_toy(state, 0, "train --out cut --steps 10 --no-eval");
    snprintf(path, sizeof path, "%s", lh_test_path(*state, "cut/" FOLDER "/metrics.jsonl"));
    FILE *file = fopen(path, "a");
    fputs("{\"step\":15,\"loss\":99}\n{\"step\":2", file);
    fclose(file);
    lh_run_result result = run_toy(state, 0, "train --out cut --steps 20 --no-eval --resume");
    assert_non_null(strstr(result.err, "torn"));
    assert_non_null(strstr(result.err, "resuming at step 10"));
    lh_assert_same_lines(*state, "whole/" FOLDER "/metrics.jsonl", "cut/" FOLDER "/metrics.jsonl");
}

/* A pipe without a writer replaces each file that a trainer reads; reading it would wait for ever. */
static void test_pipes_in_place_of_files_are_reported(void **state) {
    static const struct {
        const char *name, *command, *warning;
        int code;
    } cases[] = {
        {"checkpoint.safetensors", "train --out . --steps 9 --no-eval --resume", "is a pipe, expected a file; resuming",
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
        run_toy(state, 0, "train --out . --steps 8 --checkpoint-every 4 --no-eval --overwrite");
        unlink(path);
        assert_int_equal(mkfifo(path, 0600), 0);
        lh_run_result result = run_toy(state, cases[i].code, cases[i].command);
        if (strstr(result.err, cases[i].warning) == NULL) print_error("%s: got: %s\n", cases[i].name, result.err);
        assert_non_null(strstr(result.err, cases[i].warning));
        unlink(path);
    }
    alarm(0);
}

/* Stops a run, replaces one of its files, and resumes the run. The resume must print `warning`, and continue to the
 * same bits. text: the new text of the file; NULL: the file is removed. */
static void check_damaged_log(void **state, const char *name, const char *text, const char *warning) {
    char path[512];
    snprintf(path, sizeof path, "%s/cut/" FOLDER "/%s", (char *)*state, name);
    run_toy(state, 0, "train --out cut --steps 13 --no-eval --overwrite");
    if (text != NULL) lh_test_write(path, text, strlen(text));
    else unlink(path);
    lh_run_result result = run_toy(state, 0, "train --out cut --steps 20 --no-eval --resume");
    if (strstr(result.err, warning) == NULL) print_error("%s: got: %s\n", name, result.err);
    assert_non_null(strstr(result.err, warning));
    assert_non_null(strstr(result.err, "warning: "));
    lh_assert_same_file(*state, "whole/" FOLDER "/checkpoint.safetensors", "cut/" FOLDER "/checkpoint.safetensors");
    result = run_toy(state, 0, "train --out cut --steps 21 --no-eval --resume"); /* reported once */
    assert_null(strstr(result.err, "warning: "));
}

/* The run has metrics of steps 5 and 10, evaluations of two lengths at steps 6 and 12, and a window at the checkpoint
 * of step 13. */
static void test_resume_reports_lost_lines(void **state) {
    toy.eval.during_every = 6;
    toy.eval.during_lengths = (lh_lengths){.first = 5, .last = 6, .step = 1};
    toy.eval.during_examples = 4;
    run_toy(state, 0, "train --out whole --steps 20 --no-eval");
    check_damaged_log(state, "metrics.jsonl", NULL, "metrics.jsonl: is gone: 0 of 2 lines up to step 13");
    check_damaged_log(state, "metrics.jsonl", "", "metrics.jsonl: has 0 of 2 lines up to step 13");
    check_damaged_log(state, "metrics.jsonl", "{\"step\":5}\n{\"st", "metrics.jsonl: has 1 of 2 lines");
    check_damaged_log(state, "eval.jsonl", NULL, "eval.jsonl: is gone: 0 of 4 lines up to step 13");
    check_damaged_log(state, "eval.jsonl", "{\"step\":6}\n", "eval.jsonl: has 1 of 4 lines up to step 13");
    check_damaged_log(state, "window.jsonl", NULL, "window.jsonl: is gone, expected a line of step 13");
    check_damaged_log(state, "window.jsonl", "", "window.jsonl: is empty, expected a line of step 13");
    check_damaged_log(state, "window.jsonl", "{\"step\":13,\"steps\":3}\n",
                      "window.jsonl: has only other or incomplete lines, expected");
}

static void test_resume_without_a_run_starts_one(void **state) {
    run_toy(state, 0, "train --out . --no-eval --resume");
    assert_true(lh_test_exists(lh_test_path(*state, FOLDER "/checkpoint.safetensors")));
    lh_run_result result = run_toy(state, 1, "train --out . --no-eval --resume --steps 5");
    assert_non_null(strstr(result.err, "step 20"));
}

static const char *const other_plan = "aaaaaaaaaaaaaaaa";

/* Resumes a plan that has no run, next to a plan with a run, and removes the new run. Returns the text of stderr, which
 * the caller frees. */
static char *resume_another_plan(void **state) {
    lh_run_result result = run_toy(state, 0, "train --out . --no-eval --steps 5 --resume");
    assert_non_null(strstr(result.err, "aaaaaaaaaaaaaaaa/lr0.01-seed0: nothing to resume; the run starts at step 0\n"));
    char command[512];
    snprintf(command, sizeof command, "rm -r %s/toy/%s", (char *)*state, other_plan);
    char *output = strdup(result.err);
    assert_int_equal(system(command), 0);
    return output;
}

static void test_resume_after_an_edit_lists_differences(void **state) {
    toy.resolved =
        "{\"id\":\"toy\",\"model\":{\"heads\":2,\"width\":8},\"source\":\"a\",\"train\":{\"rate\":0.1,\"x\":1}}";
    run_toy(state, 0, "train --out . --no-eval --steps 10");
    toy.resolved =
        "{\"id\":\"toy\",\"model\":{\"heads\":2,\"width\":16},\"source\":\"b\",\"train\":{\"rate\":[1],\"y\":2}}";
    toy.plan_digest = other_plan;
    char *output = resume_another_plan(state);
    const char *list = strstr(output, "  there is ./" FOLDER ", of another plan:\n");
    assert_non_null(list);
    list = strchr(list, '\n') + 1;
    const char *expected = "    model.width: 8 there, 16 here\n"
                           "    train.rate: 0.1 there, [1] here\n"
                           "    train.x: 1 there, absent here\n"
                           "    train.y: absent there, 2 here\n"
                           "  hint: ";
    assert_int_equal(strncmp(list, expected, strlen(expected)), 0);
    free(output);
    lh_run_result result =
        run_toy(state, 0, "train --out . --no-eval --steps 5 --missing"); /* --missing reports nothing */
    assert_null(strstr(result.err, "nothing to resume"));
    result = run_toy(state, 0, "train --out . --no-eval --steps 5 --seed 7 --resume");
    assert_non_null(
        strstr(result.err, "there is ./toy/aaaaaaaaaaaaaaaa/lr0.01-seed0, of another learning rate or seed"));
    result = run_toy(state, 0, "train --out . --no-eval --steps 6 --seeds 6:7 --resume");
    assert_non_null(strstr(result.err, "1 of 2 runs have nothing to resume and start at step 0"));
}

/* Content of another run's run.json is read up to a limit and printed without control characters. */
static void test_resume_next_to_a_hostile_folder_continues(void **state) {
    enum { LONG = LH_MAX_RUN_JSON_BYTES + 1, DEEP = 100000 };
    char path[512], *text = malloc(LONG), *output;
    assert_non_null(text);
    snprintf(path, sizeof path, "%s/" FOLDER "/run.json", (char *)*state);
    run_toy(state, 0, "train --out . --no-eval --steps 10");
    toy.plan_digest = other_plan;
    memset(text, ' ', LONG);
    memcpy(text, "{\"spec\":{}}", 11);
    lh_test_write(path, text, LONG);
    assert_non_null(strstr(output = resume_another_plan(state), "no spec to compare with"));
    free(output);
    memset(text, '[', DEEP);
    lh_test_write(path, text, DEEP);
    assert_non_null(strstr(output = resume_another_plan(state), "no spec to compare with"));
    free(output);
    free(text);
    const char *codes = "{\"spec\":{\"a\\u001b[2J\\n\":\"\\u001b]0;x\\u0007\",\"b\":{},\"c\":null,\"d\":1e300}}";
    lh_test_write(path, codes, strlen(codes));
    output = resume_another_plan(state);
    assert_non_null(
        strstr(output, "    a?[2J?: \"\\u001B]0;x\\u0007\" there, absent here\n    b: {} there, absent here\n"));
    assert_null(strchr(output, '\033'));
    free(output);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(60);
    assert_non_null(strstr(output = resume_another_plan(state), "no spec to compare with"));
    alarm(0);
    free(output);
}

static void test_resume_evaluates_only_missing_conditions(void **state) {
    run_toy(state, 0, "train --out .");
    char *old_text = read_text(state, FOLDER "/eval.jsonl");
    run_toy(state, 0, "train --out . --resume");
    char *new_text = read_text(state, FOLDER "/eval.jsonl");
    assert_string_equal(old_text, new_text);
    free(new_text);
    lh_test_write(lh_test_path(*state, FOLDER "/eval.jsonl"), old_text,
                  (size_t)(strchr(old_text, '\n') - old_text + 1));
    run_toy(state, 0, "train --out . --resume");
    new_text = read_text(state, FOLDER "/eval.jsonl");
    assert_string_equal(old_text, new_text);
    free(old_text);
    free(new_text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_resumed_run_has_the_same_bits_and_lines),
        RUN_TEST(test_resumed_run_of_mixed_lengths_has_the_same_bits),
        RUN_TEST(test_seconds_continue_after_resume),
        RUN_TEST(test_resume_drops_lines_beyond_checkpoint),
        RUN_TEST(test_pipes_in_place_of_files_are_reported),
        RUN_TEST(test_resume_reports_lost_lines),
        RUN_TEST(test_resume_without_a_run_starts_one),
        RUN_TEST(test_resume_after_an_edit_lists_differences),
        RUN_TEST(test_resume_next_to_a_hostile_folder_continues),
        RUN_TEST(test_resume_evaluates_only_missing_conditions),
    };
    return cmocka_run_group_tests_name("loop resume", tests, NULL, NULL);
}
