/* training/loop: signals end a run with a checkpoint, and two processes never train one run. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "toy_runs.h"

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

static int64_t read_last_step(void **state) {
    char *text = read_text(state, FOLDER "/metrics.jsonl"), *last = text;
    for (char *cursor = text; (cursor = strstr(cursor, "{\"step\":")); cursor++) last = cursor;
    int64_t step = atoll(last + strlen("{\"step\":"));
    free(text);
    return step;
}

/* A signal must stop the run with a checkpoint. The resumed run must have the bits of a run without a signal. */
static void check_signal(void **state, int number) {
    int status;
    char command[128];
    void (*old_handler)(int) = signal(number, SIG_DFL); /* SIGHUP is ignored if the suite runs under nohup */
    pid_t child = start_training(state, "train --out . --steps 4294967295 --threads 1 --no-eval --log-every 7");
    signal(number, old_handler);
    wait_for_file(lh_test_path(*state, FOLDER "/metrics.jsonl"));
    usleep(50000);
    assert_int_equal(kill(child, number), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), LH_STOPPED);
    char *facts = read_text(state, FOLDER "/run.json");
    assert_non_null(strstr(facts, "\"exit\":75}\n"));
    free(facts);
    long long steps = read_last_step(state) + 100;
    snprintf(command, sizeof command, "train --out . --steps %lld --threads 2 --no-eval --log-every 7 --resume", steps);
    run_toy(state, 0, command);
    snprintf(command, sizeof command, "train --out whole --steps %lld --threads 1 --no-eval --log-every 7", steps);
    run_toy(state, 0, command);
    lh_assert_same_file(*state, FOLDER "/checkpoint.safetensors", "whole/" FOLDER "/checkpoint.safetensors");
    lh_assert_same_lines(*state, FOLDER "/metrics.jsonl", "whole/" FOLDER "/metrics.jsonl");
}

static void test_sigterm_writes_a_checkpoint(void **state) { check_signal(state, SIGTERM); }

static void test_sigusr1_writes_a_checkpoint(void **state) { check_signal(state, SIGUSR1); }

static void test_sigint_writes_a_checkpoint(void **state) { check_signal(state, SIGINT); }

static void test_sighup_writes_a_checkpoint(void **state) { check_signal(state, SIGHUP); }

/* SIGHUP, if ignored as under nohup, does not end the run; SIGTERM does. */
static void test_ignored_sighup_stays_ignored(void **state) {
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

static void test_second_process_is_refused(void **state) {
    int status;
    pid_t child = start_training(state, "train --out . --steps 4294967295 --threads 1 --no-eval");
    wait_for_file(lh_test_path(*state, FOLDER "/metrics.jsonl"));
    run_toy(state, LH_ERR_ENVIRONMENT, "train --out . --no-eval --resume");
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    /* --overfit trains outside the run's folder, until all answers are right. */
    run_toy(state, 0, "train --out . --no-eval --steps 4294967295 --overfit 1 --learning-rate 0.02 --threads 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_sigterm_writes_a_checkpoint),  RUN_TEST(test_sigusr1_writes_a_checkpoint),
        RUN_TEST(test_sigint_writes_a_checkpoint),   RUN_TEST(test_sighup_writes_a_checkpoint),
        RUN_TEST(test_ignored_sighup_stays_ignored), RUN_TEST(test_second_process_is_refused),
    };
    return cmocka_run_group_tests_name("loop signals", tests, NULL, NULL);
}
