/* Steps per second of training and evaluation, against the peak of the same threads measured in between, and where the
 * time of those threads went. */
#ifndef LONGHAND_BENCH_H
#define LONGHAND_BENCH_H

#include "engine/target.h"
#include "longhand/laps.h"

enum { LH_BENCH_WINDOWS = 9 };

typedef struct lh_bench_request {
    const lh_target *target;
    lh_mode mode;
    int length;     /* task length */
    int threads;    /* of the processor: at most so many work */
    int replicas;   /* 0: one model on all of it; R: R models side by side, on the CPU each one thread's whole job */
    double seconds; /* about, peak included */
    int windows;    /* to take medians of: 0 to LH_BENCH_WINDOWS; 0: all of them */
} lh_bench_request;

typedef struct lh_bench_result {
    lh_mode mode;
    int length, tokens;        /* task length; tokens per sequence, all streams together */
    int replicas;              /* at least 1 */
    int threads;               /* that work; for a device: that make its batches */
    double steps_per_second;   /* of all replicas together; training: whole steps; evaluation: batches of that size */
    double processor_seconds;  /* of a step of one replica, all threads together, whatever neighbours take; NaN: it is
                                * a device that works */
    double flops_per_second;   /* executed */
    double nominal_per_second; /* nominal */
    double peak;               /* operations per second of all threads; 0: not known for this level or device */
    double parts[LH_PARTS];    /* shares of the time of all threads, in steps of their own; their sum is 1 */
} lh_bench_result;

/* Measures one mode at one task length; medians over windows of steps that alternate with windows of the peak loop.
 * With more replicas than threads, threads take them in turn, as they come. Errors: those of opening an engine and of
 * a training step. */
lh_status lh_bench(const lh_bench_request *request, lh_bench_result *result, lh_error *error);

#endif
