/* See team.h.
 *
 * A build with OpenMP uses the threads of OpenMP; other builds use POSIX threads, which the thread sanitizer supports.
 * The barrier is implemented here for both. A waiting thread spins for about 50 microseconds, the usual time between
 * the arrivals of the first and the last thread, and then sleeps in the kernel. A team with more threads than
 * processors never spins, so a waiting thread does not occupy the processor of a working one.
 *
 * Between two calls of lh_team_run the OpenMP library decides how idle threads wait. In GNU's library they spin for
 * milliseconds. On a processor that other jobs also use, a call was measured to lose 1 to 20 ms if idle threads spin,
 * and 0.04 ms if they sleep. Environment variables set how long idle threads spin; the library reads these variables
 * when the program starts, before main (see make_openmp_spin_briefly).
 */
#define _GNU_SOURCE
#include "base/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "longhand/timings.h"

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

enum { SPINS = 1000 }; /* checks of the barrier before a thread sleeps, if there are enough processors */

typedef struct team {
    _Alignas(64) atomic_uint arrived;    /* threads at the barrier */
    _Alignas(64) atomic_uint generation; /* barriers passed */
    atomic_uint sleepers;                /* threads that sleep, or will sleep next */
    int spins;                           /* maximum number of checks of `generation` before a thread sleeps */
} team;

/* The team that this thread works in (NULL: none), and its number of threads. */
static _Thread_local team *current;
static _Thread_local int thread_count;

static void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Sleeps while generation equals `old_generation`; may return early. */
static void sleep_until_changed(team *t, unsigned old_generation) {
#ifdef __linux__
    syscall(SYS_futex, (unsigned *)&t->generation, FUTEX_WAIT_PRIVATE, old_generation, NULL, NULL, 0);
#else
    (void)t, (void)old_generation;
    sched_yield();
#endif
}

static void wake_all(team *t) {
#ifdef __linux__
    syscall(SYS_futex, (unsigned *)&t->generation, FUTEX_WAKE_PRIVATE, 0x7fffffff, NULL, NULL, 0);
#else
    (void)t;
#endif
}

/* Waits until generation differs from `old_generation`. */
static void wait_for_change(team *t, unsigned old_generation) {
    for (int i = 0; i < t->spins; i++) {
        if (atomic_load_explicit(&t->generation, memory_order_acquire) != old_generation) return;
        pause_briefly();
    }
    atomic_fetch_add(&t->sleepers, 1);
    while (atomic_load(&t->generation) == old_generation) sleep_until_changed(t, old_generation);
    atomic_fetch_sub(&t->sleepers, 1);
}

/* A sleeper counts itself before the kernel compares generation; the last thread to arrive changes generation before
 * it reads the number of sleepers. So either the last thread sees the sleeper, or the sleeper sees the change. */
void lh_team_barrier(void) {
    team *t = current;
    if (!t || thread_count == 1) return;
    LH_TIMED(LH_PART_WAITING);
    unsigned old_generation = atomic_load_explicit(&t->generation, memory_order_acquire);
    if ((int)atomic_fetch_add(&t->arrived, 1) + 1 < thread_count) {
        wait_for_change(t, old_generation);
        return;
    }
    atomic_store(&t->arrived, 0);
    atomic_store(&t->generation, old_generation + 1);
    if (atomic_load(&t->sleepers) > 0) wake_all(t);
}

/* Does the work of one thread of a team. */
static void run_thread(team *t, lh_team_work *work, void *argument, int index, int count) {
    team *outer = current;
    int outer_thread_count = thread_count;
    current = t;
    thread_count = count;
    if (!outer) lh_timings_begin();
    work(argument, index, count);
    if (!outer) lh_timings_end();
    current = outer;
    thread_count = outer_thread_count;
}

#ifdef _OPENMP
#include <omp.h>

/* Makes idle threads spin as briefly as in the barrier, unless the user has set another behaviour. The priority 101
 * makes this function run before a statically linked OpenMP library starts. A dynamically linked library has already
 * read its settings; then idle threads spin longer, which only costs time. */
__attribute__((constructor(101))) static void make_openmp_spin_briefly(void) {
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    setenv("OMP_WAIT_POLICY", "passive", 1);
    setenv("GOMP_SPINCOUNT", "1000", 1);
}

static void run(team *t, int threads, lh_team_work *work, void *argument) {
#pragma omp parallel num_threads(threads)
    run_thread(t, work, argument, omp_get_thread_num(), omp_get_num_threads());
}

#else

typedef struct worker {
    pthread_t thread;
    struct start_gate *gate;
    int index;
} worker;

/* A gate at which threads wait until the number of threads is known. */
typedef struct start_gate {
    pthread_mutex_t mutex;
    pthread_cond_t ready;
    int count; /* 0: not known yet */
    team *team;
    lh_team_work *work;
    void *argument;
} start_gate;

static void *start_worker(void *pointer) {
    worker *w = pointer;
    start_gate *gate = w->gate;
    pthread_mutex_lock(&gate->mutex);
    while (gate->count == 0) pthread_cond_wait(&gate->ready, &gate->mutex);
    int count = gate->count;
    pthread_mutex_unlock(&gate->mutex);
    run_thread(gate->team, gate->work, gate->argument, w->index, count);
    return NULL;
}

static void run(team *t, int threads, lh_team_work *work, void *argument) {
    start_gate gate = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                       .ready = PTHREAD_COND_INITIALIZER,
                       .team = t,
                       .work = work,
                       .argument = argument};
    worker *workers = calloc((size_t)threads, sizeof *workers);
    int count = 1;
    for (; workers && count < threads; count++) {
        workers[count].gate = &gate;
        workers[count].index = count;
        if (pthread_create(&workers[count].thread, NULL, start_worker, &workers[count]) != 0) break;
    }
    pthread_mutex_lock(&gate.mutex);
    gate.count = count;
    pthread_cond_broadcast(&gate.ready);
    pthread_mutex_unlock(&gate.mutex);
    run_thread(t, work, argument, 0, count);
    for (int i = 1; i < count; i++) pthread_join(workers[i].thread, NULL);
    free(workers);
}

#endif

/* The value of team.spins for a team of this many threads. The number of processors is read once, because every step
 * needs it. */
static int compute_spins(int threads) {
    static atomic_int stored_processors; /* 0: not read yet */
    int processors = atomic_load(&stored_processors);
    if (processors == 0) {
        processors = lh_team_count_processors();
        atomic_store(&stored_processors, processors);
    }
    return threads > processors ? 0 : SPINS;
}

void lh_team_run(int threads, lh_team_work *work, void *argument) {
    team t = {.spins = compute_spins(threads)};
    if (threads <= 1) run_thread(&t, work, argument, 0, 1);
    else run(&t, threads, work, argument);
}

/* The number of processors on which this process may run. */
static int count_affinity_processors(void) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int count = online > 0 ? (int)online : 1;
#ifdef __linux__
    /* sched_getaffinity fails if the set is smaller than the kernel's set; then a larger set is tried. */
    for (int bits = 1024; bits <= 1 << 20; bits *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)bits);
        if (!set) break;
        size_t size = CPU_ALLOC_SIZE((size_t)bits);
        bool is_read = sched_getaffinity(0, size, set) == 0;
        if (is_read) count = CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (is_read) break;
    }
#endif
    return count > 0 ? count : 1;
}

/* The minimum of `limit` and the number of processors, rounded up, that the control group at `directory` allows. */
static int limit_by_group(const char *directory, int limit) {
    char path[4200];
    snprintf(path, sizeof path, "%s/cpu.max", directory);
    FILE *file = fopen(path, "r");
    if (!file) return limit;
    long long quota, period;
    if (fscanf(file, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0) {
        long long processors = (quota + period - 1) / period;
        if (processors < limit) limit = (int)processors;
    }
    fclose(file);
    return limit;
}

/* The minimum of `limit` and the limits of control groups, from this process's own to the root (cgroup version 2). */
static int limit_by_quota(int limit) {
    char line[4096], directory[4160] = "";
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (!file) return limit;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "0::/", 4) == 0) {
            line[strcspn(line, "\n")] = 0;
            snprintf(directory, sizeof directory, "/sys/fs/cgroup%s", line + 3);
        }
    fclose(file);
    while (strlen(directory) >= strlen("/sys/fs/cgroup")) {
        limit = limit_by_group(directory, limit);
        *strrchr(directory, '/') = 0;
    }
    return limit;
}

int lh_team_count_processors(void) { return limit_by_quota(count_affinity_processors()); }
