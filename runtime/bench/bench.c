/* See bench.h. Machines are noisy and change their clock: steps and peak are measured in turn, and medians compared. */
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/team.h"
#include "bench/peak.h"

enum { WINDOWS = 9 };
static const double PEAK_SHARE = 0.2; /* of a window's time */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

typedef struct peak_job {
    lh_peak_function *function;
    int64_t rounds;
    int threads;  /* that really ran */
    double flops; /* of one thread */
} peak_job;

static void peak_work(void *argument, int index, int count) {
    peak_job *job = argument;
    double flops = job->function(job->rounds);
    if (index == 0) {
        job->flops = flops;
        job->threads = count;
    }
}

/* Operations per second of all threads together, over about `seconds`. */
static double measure_peak(peak_job *job, int threads, double seconds) {
    double start = now();
    lh_team_run(threads, peak_work, job);
    double taken = now() - start;
    double rate = job->flops * job->threads / taken;
    job->rounds = (int64_t)((double)job->rounds * seconds / (taken > 1e-9 ? taken : 1e-9)) + 1;
    return rate;
}

typedef struct bench {
    lh_engine *engine;
    lh_mode mode;
    lh_condition condition;
    lh_step_metrics metrics;
} bench;

static lh_status run_one(bench *b, lh_error *error) {
    int done;
    lh_sums sums;
    if (b->mode == LH_MODE_TRAIN) return b->engine->ops->step(b->engine, 1, &b->metrics, &done, error);
    b->engine->ops->evaluate(b->engine, &b->condition, &sums, NULL);
    return LH_OK;
}

/* Steps per second over whole steps that take at least `seconds`. */
static lh_status measure_steps(bench *b, double seconds, double *rate, lh_error *error) {
    int64_t steps = 0;
    double start = now(), taken = 0;
    lh_status status = LH_OK;
    while (status == LH_OK && (steps == 0 || taken < seconds)) {
        status = run_one(b, error);
        steps++;
        taken = now() - start;
    }
    *rate = (double)steps / taken;
    return status;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

static lh_status measure(bench *b, const lh_cpu_program *program, int threads, double seconds, lh_bench_result *result,
                         lh_error *error) {
    double steps[WINDOWS], peaks[WINDOWS] = {0};
    peak_job job = {.function = lh_peak_of(program->level, program->real_bytes), .rounds = 100000};
    double window = seconds / WINDOWS;
    lh_status status = run_one(b, error); /* fills caches, starts threads */
    if (job.function != NULL) measure_peak(&job, threads, PEAK_SHARE * window);
    for (int i = 0; status == LH_OK && i < WINDOWS; i++) {
        if (job.function != NULL) peaks[i] = measure_peak(&job, threads, PEAK_SHARE * window);
        status = measure_steps(b, (1.0 - PEAK_SHARE) * window, &steps[i], error);
    }
    if (status != LH_OK) return status;
    result->steps_per_second = median(steps, WINDOWS);
    result->peak = median(peaks, WINDOWS);
    return LH_OK;
}

lh_status lh_bench(const lh_spec *spec, const lh_cpu_program *program, lh_mode mode, int n, int threads, double seconds,
                   lh_bench_result *result, lh_error *error) {
    lh_engine_config config = {.spec = spec,
                               .learning_rate = spec->train.learning_rate,
                               .threads = threads,
                               .trains = mode == LH_MODE_TRAIN,
                               .fixed_length = n};
    lh_lengths lengths = {NULL, 0, n, n, 1};
    bench b = {.mode = mode, .condition = lh_condition_at(n, spec->train.batch, 1, 0)};
    lh_status status = lh_cpu_engine_open(&config, program, &b.engine, error);
    if (status != LH_OK) return status;
    if (mode == LH_MODE_EVALUATE) status = b.engine->ops->reserve(b.engine, &lengths, spec->train.batch, error);
    lh_shape shape = lh_shape_at(spec, n, spec->train.batch);
    *result = (lh_bench_result){
        .mode = mode, .length = n, .tokens = shape.length[0] + shape.length[1], .threads = b.engine->threads};
    if (status == LH_OK) status = measure(&b, program, b.engine->threads, seconds, result, error);
    result->flops_per_second = spec->executed_flops(&shape, mode) * result->steps_per_second;
    result->nominal_per_second = spec->nominal_flops(&shape, mode) * result->steps_per_second;
    b.engine->ops->close(b.engine);
    return status;
}
