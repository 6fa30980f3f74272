/* See bench.h. Machines are noisy and change their clock rate. So steps and the peak loop alternate, each in
 * short windows of time, and medians over the windows are compared. */
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/team.h"
#include "bench/replica_set.h"
#include "bench/peak.h"

static const double PEAK_SHARE = 0.2, PARTS_SHARE = 0.2; /* shares of a window's time; the remainder: measured steps */

typedef struct peak_job {
    lh_peak_function *function;
    int64_t rounds;
    int threads;  /* actual number of threads */
    double flops; /* operations of one thread */
} peak_job;

/* Runs the peak loop on thread `index` of `count`. */
static void run_peak(void *argument, int index, int count) {
    peak_job *job = argument;
    double flops = job->function(job->rounds);
    if (index == 0) {
        job->flops = flops;
        job->threads = count;
    }
}

/* Measures operations per second of all threads together. Sets job->rounds so that the next call takes about
 * `seconds`. */
static double measure_peak(peak_job *job, int threads, double seconds) {
    double start = lh_read_clock();
    lh_team_run(threads, run_peak, job);
    double elapsed = lh_read_clock() - start;
    double rate = job->flops * job->threads / elapsed;
    job->rounds = (int64_t)((double)job->rounds * seconds / (elapsed > 1e-9 ? elapsed : 1e-9)) + 1;
    return rate;
}

/* Measurements of one window of steps. */
typedef struct window {
    double seconds;   /* duration of the window */
    double processor; /* processor time in seconds, summed over threads */
    uint64_t ticks;   /* duration in ticks of lh_read_ticks */
    int64_t steps;    /* steps of each replica */
} window;

/* Times `steps` steps of every replica. */
static lh_status measure_steps(lh_replica_set *set, int64_t steps, window *w, lh_error *error) {
    double start = lh_read_clock(), processor = lh_read_processor_clock();
    uint64_t ticks = lh_read_ticks();
    lh_status status = lh_replica_set_step(set, steps, error);
    *w = (window){.seconds = lh_read_clock() - start,
                  .processor = lh_read_processor_clock() - processor,
                  .ticks = lh_read_ticks() - ticks,
                  .steps = steps};
    return status;
}

/* The number of steps that take about `seconds`, from the rate of the last window. */
static int64_t compute_step_count(const window *last, double seconds) {
    double steps = (double)last->steps * seconds / (last->seconds > 1e-9 ? last->seconds : 1e-9); /* 1e-9: not 0 */
    return steps < 1 ? 1 : (int64_t)(steps + 0.5);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double lh_find_median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

/* Converts the ticks of each part to shares of the total. total_ticks: elapsed ticks, multiplied by the number of
 * workers. If the total exceeds the sum of all parts, the difference counts as waiting: in this time a team starts or
 * ends, or threads wait while one thread works alone. */
static void convert_to_shares(double total_ticks, double parts[LH_PARTS]) {
    double measured = 0;
    for (int i = 0; i < LH_PARTS; i++) measured += parts[i];
    if (total_ticks > measured) parts[LH_PART_WAITING] += total_ticks - measured;
    else total_ticks = measured;
    for (int i = 0; i < LH_PARTS; i++) parts[i] /= total_ticks;
}

/* Runs steps for about `seconds` with lh_timings_fine set, so that places marked LH_TIMED_FINELY are timed, too. Adds
 * the ticks of each part to `parts`, and elapsed ticks, multiplied by the number of workers, to *total_ticks. The rates
 * do not include these steps. */
static lh_status measure_parts(lh_replica_set *set, double seconds, const window *last, double *total_ticks,
                               double parts[LH_PARTS], lh_error *error) {
    uint64_t ticks_before[LH_PARTS], ticks_after[LH_PARTS];
    window w;
    lh_timings_read(ticks_before);
    lh_timings_fine = true;
    lh_status status = measure_steps(set, compute_step_count(last, seconds), &w, error);
    lh_timings_fine = false;
    lh_timings_read(ticks_after);
    *total_ticks += (double)w.ticks * set->workers;
    for (int i = 0; i < LH_PARTS; i++) parts[i] += (double)(ticks_after[i] - ticks_before[i]);
    return status;
}

/* Measures all windows; sets the medians and the shares of parts in *result. */
static lh_status measure(lh_replica_set *set, double seconds, lh_bench_result *result, lh_error *error) {
    const lh_cpu_program *program = set->request->target->cpu;
    int windows = set->request->windows > 0 ? set->request->windows : LH_BENCH_WINDOWS;
    double rates[LH_BENCH_WINDOWS], processor_seconds[LH_BENCH_WINDOWS], peaks[LH_BENCH_WINDOWS] = {0};
    double total_ticks = 0, window_seconds = seconds / windows;
    peak_job job = {.function = program != NULL ? lh_peak_find(program->level, program->real_bytes) : NULL,
                    .rounds = 100000}; /* first guess, which measure_peak replaces */
    window w;
    lh_status status = measure_steps(set, 1, &w, error);            /* fills caches, starts threads */
    if (status == LH_OK) status = measure_steps(set, 1, &w, error); /* measures the duration of a step */
    if (job.function != NULL) measure_peak(&job, set->workers, PEAK_SHARE * window_seconds);
    for (int i = 0; status == LH_OK && i < windows; i++) {
        if (job.function != NULL) peaks[i] = measure_peak(&job, set->workers, PEAK_SHARE * window_seconds);
        status =
            measure_steps(set, compute_step_count(&w, (1.0 - PEAK_SHARE - PARTS_SHARE) * window_seconds), &w, error);
        rates[i] = (double)(w.steps * set->count) / w.seconds;
        processor_seconds[i] = w.processor / (double)(w.steps * set->count);
        if (status == LH_OK)
            status = measure_parts(set, PARTS_SHARE * window_seconds, &w, &total_ticks, result->parts, error);
    }
    if (status != LH_OK) return status;
    result->steps_per_second = lh_find_median(rates, windows);
    result->processor_seconds = program != NULL ? lh_find_median(processor_seconds, windows) : NAN;
    result->peak = lh_find_median(peaks, windows);
    convert_to_shares(total_ticks, result->parts);
    return LH_OK;
}

/* The number of passes through the layers at task length n, relative to spec->passes. The functions of lh_spec count
 * flops for spec->passes passes. Returns 1 if the model has no loops. */
static double compute_pass_ratio(const lh_spec *spec, int n) {
    return spec->passes > 0 ? (double)lh_count_passes(spec, n) / spec->passes : 1;
}

static double count_executed_flops(const lh_target *target, const lh_shape *shape, int n, lh_mode mode) {
    double flops = target->spec.executed_flops(shape, mode);
    if (target->cpu != NULL && target->cpu->skipped_flops != NULL) flops -= target->cpu->skipped_flops(shape, mode);
    return flops * compute_pass_ratio(&target->spec, n);
}

lh_status lh_bench(const lh_bench_request *request, lh_bench_result *result, lh_error *error) {
    const lh_spec *spec = &request->target->spec;
    lh_shape shape = lh_make_shape(spec, request->length, spec->train.batch);
    lh_replica_set set;
    lh_status status = lh_replica_set_open(&set, request, error);
    *result = (lh_bench_result){.mode = request->mode,
                                .length = lh_get_reported_length(spec, request->length),
                                .tokens = lh_count_shape_tokens(&shape),
                                .replicas = set.count,
                                .threads = set.workers};
    if (status == LH_OK) status = measure(&set, request->seconds, result, error);
    result->flops_per_second =
        result->steps_per_second * count_executed_flops(request->target, &shape, request->length, request->mode);
    result->nominal_per_second = spec->nominal_flops(&shape, request->mode) *
                                 compute_pass_ratio(spec, request->length) * result->steps_per_second;
    lh_replica_set_close(&set);
    return status;
}
