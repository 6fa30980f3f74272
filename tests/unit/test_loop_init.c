/* training/loop: runs that begin with the parameters of another run. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toy_runs.h"

/* Checks that two checkpoints have equal parameters, by equal scores. */
static void assert_same_parameters(void **state, const char *a, const char *b) {
    char command[300];
    snprintf(command, sizeof command, "eval --checkpoint %s/checkpoint.safetensors --out x --lengths 7", a);
    run_toy(state, 0, command);
    snprintf(command, sizeof command, "eval --checkpoint %s/checkpoint.safetensors --out y --lengths 7", b);
    run_toy(state, 0, command);
    char *x = read_text(state, "x/eval.jsonl"), *y = read_text(state, "y/eval.jsonl");
    assert_string_equal(strstr(x, "\"split\""), strstr(y, "\"split\""));
    free(x);
    free(y);
}

static void test_init_starts_from_parameters(void **state) {
    run_toy(state, 0, "train --out a --steps 10 --no-eval");
    run_toy(state, 0, "train --out b --steps 0 --no-eval --init a/" FOLDER "/checkpoint.safetensors");
    assert_same_parameters(state, "a/" FOLDER, "b/" FOLDER);
    lh_run_result result = run_toy(state, 1, "train --out c --init nowhere --no-eval");
    assert_non_null(strstr(result.err, "nowhere"));
    assert_false(lh_test_exists(lh_test_path(*state, "c")));
}

/* The file is read before the first run of a group begins, since that run may overwrite it. */
static void test_init_file_may_be_overwritten_by_its_run(void **state) {
    run_toy(state, 0, "train --out a --steps 10 --no-eval");
    run_toy(state, 0, "train --out b --steps 10 --no-eval");
    run_toy(state, 0, "train --out want --steps 5 --no-eval --seeds 1:1 --init a/" FOLDER "/checkpoint.safetensors");
    run_toy(state, 0, "train --out a --steps 0 --no-eval --overwrite --init a/" FOLDER "/checkpoint.safetensors");
    assert_same_parameters(state, "a/" FOLDER, "b/" FOLDER);
    run_toy(state, 0,
            "train --out b --steps 5 --no-eval --threads 1 --seeds 0:1 --overwrite --init b/" FOLDER
            "/checkpoint.safetensors");
    assert_same_parameters(state, "want/toy/0123456789abcdef/lr0.01-seed1", "b/toy/0123456789abcdef/lr0.01-seed1");
}

/* A run without a checkpoint starts from the init file, which must be valid before any file is written. */
static void test_resume_without_checkpoint_needs_its_init(void **state) {
    static const char *const flags[] = {"--resume", "--missing"};
    for (int i = 0; i < 2; i++) {
        char command[100];
        snprintf(command, sizeof command, "train --out c %s --init nowhere --no-eval", flags[i]);
        lh_run_result result = run_toy(state, 1, command);
        assert_non_null(strstr(result.err, "nowhere"));
        assert_false(lh_test_exists(lh_test_path(*state, "c/" FOLDER "/run.json")));
    }
    run_toy(state, 0, "train --out a --steps 10 --no-eval");
    run_toy(state, 0, "train --out c --steps 0 --no-eval --resume --init a/" FOLDER "/checkpoint.safetensors");
    assert_same_parameters(state, "a/" FOLDER, "c/" FOLDER);
}

/* Reads the checksum in a checkpoint's metadata. */
static void read_checksum(void **state, const char *name, char checksum[17]) {
    static const char key[] = "\"checksum\":\"";
    size_t bytes;
    char *text = lh_test_read(lh_test_path(*state, name), &bytes);
    char *found = memmem(text, bytes, key, sizeof key - 1);
    assert_non_null(found);
    memcpy(checksum, found + sizeof key - 1, 16);
    checksum[16] = 0;
    free(text);
}

/* Without the flag --init, training starts from the file that the plan names. If --init names a file with another
 * checksum, training is refused and changes no file. */
static void test_planned_init_refuses_other_files(void **state) {
    char checksum[17];
    run_toy(state, 0, "train --out a --steps 10 --no-eval");
    run_toy(state, 0, "train --out other --steps 5 --no-eval");
    read_checksum(state, "a/" FOLDER "/checkpoint.safetensors", checksum);
    toy.train.init = "a/" FOLDER "/checkpoint.safetensors";
    toy.train.init_checksum = checksum;
    run_toy(state, 0, "train --out b --steps 0 --no-eval");
    assert_same_parameters(state, "a/" FOLDER, "b/" FOLDER);
    char *x = read_text(state, "b/" FOLDER "/run.json"), *y;
    assert_non_null(strstr(x, "\"init\":\"a/" FOLDER "/checkpoint.safetensors\",\"init_checksum\":\""));
    lh_run_result result = run_toy(
        state, 1, "train --out b --steps 0 --no-eval --overwrite --init other/" FOLDER "/checkpoint.safetensors");
    assert_non_null(strstr(result.err, "cannot start from this file: its checksum is"));
    assert_non_null(strstr(result.err, checksum));
    y = read_text(state, "b/" FOLDER "/run.json");
    assert_string_equal(x, y);
    free(x);
    free(y);
    toy.train.init = "gone";
    run_toy(state, 1, "train --out c --steps 0 --no-eval");
    run_toy(state, 0, "train --out c --steps 0 --no-eval --init a/" FOLDER "/checkpoint.safetensors");
    run_toy(state, 0, "train --out c --steps 3 --no-eval --resume"); /* a resume does not need the file */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_init_starts_from_parameters),
        RUN_TEST(test_init_file_may_be_overwritten_by_its_run),
        RUN_TEST(test_resume_without_checkpoint_needs_its_init),
        RUN_TEST(test_planned_init_refuses_other_files),
    };
    return cmocka_run_group_tests_name("loop init", tests, NULL, NULL);
}
