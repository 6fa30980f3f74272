/* training/group and groups of runs: every run has the results of a single run, whatever other runs do. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "longhand/rng.h"
#include "toy_program.h"
#include "toy_runs.h"
#include "training/group.h"

#define PLAN "toy/0123456789abcdef/"

/* --- the queue -------------------------------------------------------------------------------------------------- */

typedef struct counted_job {
    int needed_turns, turns_taken;
    atomic_int threads_inside; /* threads inside the job */
    bool was_shared;           /* more than one thread was inside */
    int *job_order;            /* [*turn_count] index of the job of each turn; NULL for several threads */
    int *turn_count;           /* number of turns of all jobs; NULL for several threads */
    int index;                 /* index of the job */
} counted_job;

static bool take_turn(void *job) {
    counted_job *p = job;
    if (atomic_fetch_add(&p->threads_inside, 1) > 0) p->was_shared = true;
    if (p->job_order) p->job_order[(*p->turn_count)++] = p->index;
    usleep(100);
    p->turns_taken++;
    bool has_more = p->turns_taken < p->needed_turns;
    atomic_fetch_sub(&p->threads_inside, 1);
    return has_more;
}

static void test_group_runs_every_job_on_one_thread_at_a_time(void **state) {
    enum { JOBS = 23 };
    lh_error error;
    for (int threads = 1; threads <= 4; threads++) {
        counted_job work[JOBS] = {{0}};
        void *jobs[JOBS];
        for (int i = 0; i < JOBS; i++) {
            work[i].needed_turns = 1 + i % 7;
            jobs[i] = &work[i];
        }
        lh_assert_ok(lh_group_run(threads, jobs, JOBS, take_turn, &error), &error);
        for (int i = 0; i < JOBS; i++) {
            assert_int_equal(work[i].turns_taken, work[i].needed_turns);
            assert_false(work[i].was_shared);
        }
    }
}

static void test_group_jobs_take_turns(void **state) {
    lh_error error;
    int job_order[6], turn_count = 0;
    counted_job work[3] = {{.needed_turns = 3}, {.needed_turns = 1}, {.needed_turns = 2}};
    void *jobs[3];
    for (int i = 0; i < 3; i++) {
        work[i].job_order = job_order;
        work[i].turn_count = &turn_count;
        work[i].index = i;
        jobs[i] = &work[i];
    }
    lh_assert_ok(lh_group_run(1, jobs, 3, take_turn, &error), &error);
    static const int expected[] = {0, 1, 2, 0, 2, 0};
    assert_int_equal(turn_count, 6);
    assert_memory_equal(job_order, expected, sizeof expected);
    lh_assert_ok(lh_group_run(2, jobs, 0, take_turn, &error), &error);
}

/* --- runs ------------------------------------------------------------------------------------------------------- */

static const char *const FOLDERS[] = {PLAN "lr0.01-seed3", PLAN "lr0.01-seed4", PLAN "lr0.01-seed5",
                                      PLAN "lr0.02-seed3", PLAN "lr0.02-seed4", PLAN "lr0.02-seed5"};

static void train_single_runs(void **state) {
    for (int seed = 3; seed <= 5; seed++)
        for (int rate = 1; rate <= 2; rate++) {
            char command[128];
            snprintf(command, sizeof command,
                     "train --out alone --steps 33 --threads %d --seed %d --learning-rate 0.0%d", seed - 2, seed, rate);
            run_toy(state, 0, command);
        }
}

static void test_replicas_have_the_bits_of_single_runs_at_any_thread_count(void **state) {
    train_single_runs(state);
    for (int threads = 1; threads <= 7; threads += 2) {
        char command[128], out[32];
        snprintf(out, sizeof out, "group%d", threads);
        snprintf(command, sizeof command,
                 "train --out %s --steps 33 --threads %d --seeds 3:5 --learning-rate 1e-2,2e-2", out, threads);
        lh_run_result result = run_toy(state, 0, command);
        assert_non_null(strstr(result.out, "toy: 6 runs, 198 steps"));
        assert_true((threads > 6) == (strstr(result.err, "threads 6 of 7") != NULL));
        for (int i = 0; i < 6; i++) lh_assert_same_run(*state, "alone", out, FOLDERS[i]);
    }
}

/* Finished runs are not changed, a run held by another process is left out, and missing runs are trained. */
static void test_missing_trains_only_missing_runs(void **state) {
    lh_error error;
    int lock;
    bool is_exclusive;
    train_single_runs(state);
    run_toy(state, 0, "train --out parts --steps 33 --seeds 3:4 --learning-rate 0.01 --threads 2");
    run_toy(state, 0, "train --out parts --steps 17 --seed 5 --learning-rate 0.01 --no-eval");
    run_toy(state, 0, "train --out parts --steps 33 --seed 3 --learning-rate 0.02 --no-eval");
    char *old_text = read_text(state, "parts/" PLAN "lr0.01-seed3/run.json");
    lh_assert_ok(lh_make_directories(lh_test_path(*state, "parts/" PLAN "lr0.02-seed5"), &error), &error);
    lh_assert_ok(lh_lock_directory(lh_test_path(*state, "parts/" PLAN "lr0.02-seed5"), &lock, &is_exclusive, &error),
                 &error);
    lh_run_result result =
        run_toy(state, 0, "train --out parts --steps 33 --seeds 3:5 --learning-rate 0.01,0.02 --threads 2 --missing");
    assert_non_null(strstr(result.err, "lr0.02-seed5: another process uses this folder; left out"));
    assert_non_null(strstr(result.err, "toy: 2 of 6 runs are finished, 3 remain"));
    assert_non_null(strstr(result.out, "toy: 3 runs, 49 steps"));
    char *new_text = read_text(state, "parts/" PLAN "lr0.01-seed3/run.json");
    assert_string_equal(old_text, new_text);
    for (int i = 0; i < 5; i++) lh_assert_same_run(*state, "alone", "parts", FOLDERS[i]);
    lh_unlock_directory(lock);
    result = run_toy(state, 0, "train --out parts --steps 33 --seeds 3:5 --learning-rate 0.01,0.02 --missing");
    assert_non_null(strstr(result.err, "toy: 5 of 6 runs are finished, 1 remain"));
    lh_assert_same_run(*state, "alone", "parts", FOLDERS[5]);
    result = run_toy(state, 0, "train --out parts --steps 33 --seeds 3:5 --learning-rate 0.01,0.02 --missing");
    assert_non_null(strstr(result.err, "toy: 6 of 6 runs are finished, 0 remain"));
    run_toy(state, LH_ERR_USAGE, "train --out parts --missing --overwrite");
    run_toy(state, LH_ERR_USAGE, "train --out parts --missing --overfit 3");
    free(old_text);
    free(new_text);
}

/* A run's folder may be a symbolic link to another user's files: nothing is written through the link. */
static void test_nothing_is_written_through_a_link(void **state) {
    lh_error error;
    char target[512], link[512];
    snprintf(target, sizeof target, "%s", lh_test_path(*state, "theirs"));
    snprintf(link, sizeof link, "%s", lh_test_path(*state, "ours/" PLAN "lr0.01-seed3"));
    lh_assert_ok(lh_make_directories(target, &error), &error);
    lh_assert_ok(lh_make_directories(lh_test_path(*state, "ours/" PLAN), &error), &error);
    assert_int_equal(symlink(target, link), 0);
    lh_run_result result = run_toy(state, LH_ERR_INPUT, "train --out ours --steps 3 --seed 3 --learning-rate 0.01");
    assert_non_null(strstr(result.err, "lr0.01-seed3: is a symbolic link, expected a folder"));
    result = run_toy(state, 0, "train --out ours --steps 3 --seeds 3:4 --learning-rate 0.01 --missing");
    assert_non_null(strstr(result.err, "lr0.01-seed3: the path has a symbolic link; left out"));
    assert_int_equal(rmdir(target), 0); /* it is still empty */
    assert_true(lh_test_exists(lh_test_path(*state, "ours/" PLAN "lr0.01-seed4/run.json")));
}

/* The name is not valid UTF-8. */
static void test_missing_finds_runs_in_a_folder_with_any_bytes_as_name(void **state) {
    run_toy(state, 0, "train --out p\xff --steps 5 --no-eval");
    lh_run_result result = run_toy(state, 0, "train --out p\xff --steps 5 --no-eval --missing");
    assert_non_null(strstr(result.err, "toy: 1 of 1 runs are finished, 0 remain"));
}

static bool without_locks;

/* Replaces the system's function. */
int flock(int file, int operation) {
    if (!without_locks) return (int)syscall(SYS_flock, file, operation);
    errno = ENOLCK;
    return -1;
}

static void test_file_system_without_locks_warns_once(void **state) {
    lh_run_result result = run_toy(state, 0, "train --out locked --steps 5 --seeds 3:4 --no-eval");
    assert_null(strstr(result.err, "warning"));
    without_locks = true;
    result = run_toy(state, 0, "train --out . --steps 5 --seeds 3:4 --no-eval");
    without_locks = false;
    const char *warning = strstr(result.err, "warning: ./" PLAN "lr0.01-seed3: this file system has no locks");
    assert_non_null(warning);
    assert_non_null(strstr(warning, "use a run in one process at a time"));
    assert_null(strstr(warning + 1, "warning"));
}

static void test_replicas_resume_from_different_steps(void **state) {
    train_single_runs(state);
    run_toy(state, 0, "train --out parts --steps 13 --seed 4 --learning-rate 0.02 --no-eval");
    run_toy(state, 0, "train --out parts --steps 17 --seeds 4:5 --learning-rate 0.01 --threads 2 --no-eval");
    lh_run_result result =
        run_toy(state, 0, "train --out parts --steps 33 --seeds 3:5 --learning-rate 0.01,0.02 --threads 3 --resume");
    assert_non_null(strstr(result.err, "learning rate 0.02, seed 4: resuming at step 13"));
    assert_non_null(strstr(result.err, "learning rate 0.01, seed 5: resuming at step 17"));
    for (int i = 0; i < 6; i++) lh_assert_same_run(*state, "alone", "parts", FOLDERS[i]);
    result =
        run_toy(state, 0, "train --out parts --steps 33 --seeds 3:5 --learning-rate 0.01,0.02 --threads 3 --resume");
    assert_non_null(strstr(result.out, "toy: 6 runs, 0 steps in"));
    assert_non_null(strstr(result.out, "3         33          -          -"));
    for (int i = 0; i < 6; i++) lh_assert_same_run(*state, "alone", "parts", FOLDERS[i]);
}

static void test_existing_run_leaves_all_replicas_untouched(void **state) {
    run_toy(state, 0, "train --out . --seed 2 --no-eval");
    lh_run_result result = run_toy(state, 1, "train --out . --seeds 0:3 --no-eval");
    assert_non_null(strstr(result.err, "lr0.01-seed2: there is a trained run here"));
    assert_false(lh_test_exists(lh_test_path(*state, PLAN "lr0.01-seed0/run.json")));
    run_toy(state, 0, "train --out . --seeds 0:3 --no-eval --overwrite");
    assert_true(lh_test_exists(lh_test_path(*state, PLAN "lr0.01-seed3/checkpoint.safetensors")));
}

/* The loss of seed 1 is NaN at step 14. */
static void train_block_with_nan_for_one_seed(const lh_cpu_step *step, const lh_cpu_block *block, void *workspace,
                                              void *gradient, lh_sums *sums) {
    lh_key failing_key = lh_key_of_seed(1);
    toy_float.train_block(step, block, workspace, gradient, sums);
    if (step->step == 13 && memcmp(&step->key, &failing_key, sizeof failing_key) == 0) sums->loss = NAN;
}

static void test_replicas_continue_after_one_diverges(void **state) {
    run_toy(state, 0, "train --out alone --seed 2 --steps 30");
    lh_cpu_program program = toy_float;
    const lh_cpu_program *list[] = {&program, NULL};
    program.train_block = train_block_with_nan_for_one_seed;
    toy.cpu = list;
    lh_run_result result = run_toy(state, 1, "train --out group --seeds 0:2 --steps 30 --threads 2");
    assert_non_null(strstr(result.err, "learning rate 0.01, seed 1: error: step 14: the loss is nan"));
    assert_non_null(strstr(result.err, "1 of 3 runs failed"));
    assert_non_null(strstr(result.out, "failed"));
    lh_assert_same_run(*state, "alone", "group", PLAN "lr0.01-seed2");
    char *facts = read_text(state, "group/" PLAN "lr0.01-seed1/run.json");
    assert_non_null(strstr(facts, "\"exit\":1"));
    free(facts);
}

static void test_replicas_overfit_fixed_examples_or_explain_why_not(void **state) {
    lh_run_result result = run_toy(state, 1, "train --out . --overfit 50 --seeds 0:1 --steps 20 --threads 2");
    assert_non_null(strstr(result.err, "2 of 2 runs failed"));
    run_toy(state, 0, "train --out . --overfit 1 --seeds 0:1 --steps 20000 --learning-rate 0.02 --log-every 100");
}

/* The child trains with one thread, since a forked process cannot start an OpenMP team after its parent had one. */
static void test_each_replica_resumes_after_sigterm(void **state) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(lh_run_main(&toy, *state, "train --out cut --seeds 3:5 --steps 3000000000 --threads 1 --no-eval", NULL)
                  .code);
    const char *last_metrics = lh_test_path(*state, "cut/" PLAN "lr0.01-seed5/metrics.jsonl");
    for (int i = 0; i < 4000 && !lh_test_exists(last_metrics); i++) usleep(5000);
    kill(child, SIGTERM);
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), LH_STOPPED);
    char *facts = read_text(state, "cut/" PLAN "lr0.01-seed3/run.json");
    assert_non_null(strstr(facts, "\"exit\":75"));
    free(facts);
    char command[160];
    const char *const outs[] = {"cut", "whole"};
    char *lines = read_text(state, "cut/" PLAN "lr0.01-seed3/metrics.jsonl"), *last_line = lines;
    for (char *next = lines; (next = strstr(next, "{\"step\":")); next++) last_line = next;
    long long steps = atoll(last_line + strlen("{\"step\":")) + 100;
    free(lines);
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command, "train --out %s --seed 3 --steps %lld --threads 1 --resume", outs[i], steps);
        run_toy(state, 0, command);
    }
    lh_assert_same_run(*state, "whole", "cut", PLAN "lr0.01-seed3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_runs_every_job_on_one_thread_at_a_time),
        cmocka_unit_test(test_group_jobs_take_turns),
        RUN_TEST(test_replicas_have_the_bits_of_single_runs_at_any_thread_count),
        RUN_TEST(test_nothing_is_written_through_a_link),
        RUN_TEST(test_missing_trains_only_missing_runs),
        RUN_TEST(test_missing_finds_runs_in_a_folder_with_any_bytes_as_name),
        RUN_TEST(test_file_system_without_locks_warns_once),
        RUN_TEST(test_replicas_resume_from_different_steps),
        RUN_TEST(test_existing_run_leaves_all_replicas_untouched),
        RUN_TEST(test_replicas_continue_after_one_diverges),
        RUN_TEST(test_replicas_overfit_fixed_examples_or_explain_why_not),
        RUN_TEST(test_each_replica_resumes_after_sigterm),
    };
    return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
