/* Steps per second of training and evaluation, against the peak of the same threads measured in between. */
#ifndef LONGHAND_BENCH_H
#define LONGHAND_BENCH_H

#include "train/engine.h"

typedef struct lh_bench_result {
    lh_mode mode;
    int length, tokens; /* task length; tokens per sequence, all streams together */
    int threads;
    double steps_per_second;   /* training: whole steps; evaluation: batches of the training batch's size */
    double flops_per_second;   /* executed */
    double nominal_per_second; /* nominal */
    double peak;               /* operations per second of all threads; 0: no peak for this level */
} lh_bench_result;

/* Measures one mode at one task length for about `seconds`; medians over windows of steps that alternate with windows
 * of the peak loop. */
lh_status lh_bench(const lh_spec *spec, const lh_cpu_program *program, lh_mode mode, int n, int threads, double seconds,
                   lh_bench_result *result, lh_error *error);

#endif
