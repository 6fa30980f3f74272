/* base/team.h: every thread runs once, the barrier separates phases, and the number of processors follows affinity. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/team.h"

enum { MAX_THREADS = 9, PHASES = 2000 };

typedef struct log {
    int run_count[MAX_THREADS]; /* [index] number of times that the thread has run */
    int team_size[MAX_THREADS]; /* [index] number of threads that the team reported to the thread */
    atomic_int total;           /* runs of all threads */
    int seen_total;             /* total that the last thread read after the barrier */
} log;

static void record_index(void *argument, int index, int count) {
    log *l = argument;
    l->run_count[index]++;
    l->team_size[index] = count;
    atomic_fetch_add(&l->total, 1);
}

static void test_each_index_runs_once(void **state) {
    for (int threads = 1; threads <= MAX_THREADS; threads++) {
        log l = {0};
        lh_team_run(threads, record_index, &l);
        int count = l.team_size[0];
        assert_in_range(count, 1, threads);
        assert_int_equal(l.total, count);
        for (int i = 0; i < count; i++) assert_true(l.run_count[i] == 1 && l.team_size[i] == count);
    }
}

static void test_run_with_zero_threads_uses_one(void **state) {
    log l = {0};
    lh_team_run(0, record_index, &l);
    assert_true(l.total == 1 && l.team_size[0] == 1);
}

typedef struct phases {
    long parts[MAX_THREADS]; /* [index] sum that the thread has added */
    long wrong;              /* number of phases with a wrong total */
} phases;

/* Every thread adds to its part in each phase; between phases one of them, in turn, checks the sum of the parts, which
 * are not atomic. A barrier that lets a thread pass early, or does not order memory, gives a wrong sum or a sanitizer's
 * report. */
static void work_in_phases(void *argument, int index, int count) {
    phases *p = argument;
    for (long phase = 1; phase <= PHASES; phase++) {
        p->parts[index] += phase;
        lh_team_barrier();
        if (phase % count == index) {
            long sum = 0;
            for (int i = 0; i < count; i++) sum += p->parts[i];
            p->wrong += sum != count * phase * (phase + 1) / 2;
        }
        lh_team_barrier();
    }
}

static void test_barrier_of_many_phases_lets_no_thread_pass_early(void **state) {
    for (int threads = 1; threads <= 4; threads++) {
        phases p = {{0}, 0};
        lh_team_run(threads, work_in_phases, &p);
        assert_int_equal(p.wrong, 0);
    }
}

static void test_barrier_of_more_threads_than_processors_lets_none_pass_early(void **state) {
    phases p = {{0}, 0};
    lh_team_run(MAX_THREADS, work_in_phases, &p);
    assert_int_equal(p.wrong, 0);
}

/* One thread is late at each barrier: the other threads sleep and are woken. */
static void arrive_late(void *argument, int index, int count) {
    atomic_int *passed = argument;
    for (int phase = 0; phase < 5; phase++) {
        if (phase % count == index) usleep(3000);
        lh_team_barrier();
        atomic_fetch_add(passed, 1);
    }
}

static void test_barrier_waits_for_a_slow_thread(void **state) {
    atomic_int passed = 0;
    lh_team_run(3, arrive_late, &passed);
    assert_true(passed > 0 && passed % 5 == 0);
}

/* Thread 0 runs a team within a team; afterwards the barrier must still belong to the outer team. Otherwise the last
 * thread passes it before the inner team has run. */
static void run_nested_team(void *argument, int index, int count) {
    log *l = argument;
    lh_team_barrier();
    if (index == 0) lh_team_run(1, record_index, l);
    lh_team_barrier(); /* a barrier of the outer team */
    if (index == count - 1) l->seen_total = l->total;
}

static void test_run_within_work_keeps_the_outer_team(void **state) {
    log l = {0};
    lh_team_run(2, run_nested_team, &l);
    assert_int_equal(l.seen_total, 1);
}

static void test_barrier_without_team_returns(void **state) { lh_team_barrier(); }

static void test_processors_follow_affinity(void **state) {
    assert_true(lh_team_count_processors() >= 1);
    pid_t child = fork();
    if (child == 0) {
        cpu_set_t cpus, single_cpu;
        int first = 0;
        if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) _exit(2);
        while (!CPU_ISSET(first, &cpus)) first++;
        CPU_ZERO(&single_cpu);
        CPU_SET(first, &single_cpu);
        if (sched_setaffinity(0, sizeof single_cpu, &single_cpu) != 0) _exit(3);
        _exit(lh_team_count_processors() == 1 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_index_runs_once),
        cmocka_unit_test(test_run_with_zero_threads_uses_one),
        cmocka_unit_test(test_barrier_of_many_phases_lets_no_thread_pass_early),
        cmocka_unit_test(test_barrier_of_more_threads_than_processors_lets_none_pass_early),
        cmocka_unit_test(test_barrier_waits_for_a_slow_thread),
        cmocka_unit_test(test_run_within_work_keeps_the_outer_team),
        cmocka_unit_test(test_barrier_without_team_returns),
        cmocka_unit_test(test_processors_follow_affinity),
    };
    return cmocka_run_group_tests_name("team", tests, NULL, NULL);
}
