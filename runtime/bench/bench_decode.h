/* Measures answer tokens per second of greedy decoding (eval/decode.h) in two ways: with cached keys and values, and by
 * passes over whole sequences. */
#ifndef LONGHAND_BENCH_DECODE_H
#define LONGHAND_BENCH_DECODE_H

#include "engine/target.h"

enum { LH_BENCH_SEQUENCES = 32 /* sequences of the decoded batch for each thread */ };

typedef struct lh_bench_decoding {
    int length, labels;     /* length: task length that users see; labels: answer tokens per sequence */
    int threads, sequences; /* numbers of threads and of sequences of the batch */
    /* Answer tokens per second, medians over rounds. batch: `sequences` sequences on `threads` threads; single: one
     * sequence on one thread; passes: one sequence on one thread, by passes over the whole sequence. */
    double batch, single, passes;
} lh_bench_decoding;

/* Whether lh_decode can decode with cached keys and values, so that lh_bench_decode can measure this target: only on
 * the CPU, for models that support it. */
bool lh_bench_decodes(const lh_target *target);

/* Measures decoding at task length n for about `seconds`, in 3 to 101 rounds. Fails if an engine cannot be opened
 * or lh_decode fails. */
lh_status lh_bench_decode(const lh_target *target, int n, int threads, double seconds, lh_bench_decoding *result,
                          lh_error *error);

#endif
