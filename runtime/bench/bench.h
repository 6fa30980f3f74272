/* Measures steps per second of training or evaluation, and how the time of the threads divides among the parts of a
 * step. Between these measurements, the same threads run the peak loop, which measures the peak rate of arithmetic. */
#ifndef LONGHAND_BENCH_H
#define LONGHAND_BENCH_H

#include "engine/target.h"
#include "longhand/timings.h"

enum { LH_BENCH_WINDOWS = 9 };

/* The median of some values, which are sorted. */
double lh_find_median(double *values, int count);

typedef struct lh_bench_request {
    const lh_target *target;
    lh_mode mode;
    int length;     /* task length */
    int threads;    /* maximum number of CPU threads, which compute or, for a GPU, make batches */
    int replicas;   /* 0: one model on all threads or the whole GPU; R: R models at once, on the CPU one thread each */
    double seconds; /* approximate duration, peak measurement included */
    int windows;    /* number of windows for medians, at most LH_BENCH_WINDOWS; 0: LH_BENCH_WINDOWS */
} lh_bench_request;

typedef struct lh_bench_result {
    lh_mode mode;
    int length;                /* task length that users see */
    int tokens;                /* tokens of a sequence, summed over its streams (an encoder-decoder has two) */
    int replicas;              /* at least 1 */
    int threads;               /* number of threads that compute; if a device computes, threads that make batches */
    double steps_per_second;   /* rate of all replicas together; evaluation: batches in place of steps */
    double processor_seconds;  /* processor time per step of one replica, summed over threads; NaN: a device computes */
    double flops_per_second;   /* executed floating-point operations */
    double nominal_per_second; /* nominal floating-point operations (lh_spec.nominal_flops) */
    double peak;               /* floating-point operations per second of all threads; 0: unknown, or a GPU */
    double parts[LH_PARTS];    /* shares of the time of all threads, by lh_part, from separate steps; their sum is 1 */
} lh_bench_result;

/* Measures one mode at one task length. Rates are medians over windows of steps, which alternate with windows of the
 * peak loop. With more replicas than threads, each free thread takes the next waiting replica. Fails if an engine
 * cannot be opened, or if a training step or an evaluation fails. */
lh_status lh_bench(const lh_bench_request *request, lh_bench_result *result, lh_error *error);

#endif
