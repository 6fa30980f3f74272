/* Answers per second of greedy decoding (eval/decode.h), with what is kept of the tokens before and by a pass for each. */
#ifndef LONGHAND_BENCH_DECODE_H
#define LONGHAND_BENCH_DECODE_H

#include "engine/target.h"

enum { LH_BENCH_SEQUENCES = 32 /* of a batch that is decoded, for each thread */ };

typedef struct lh_bench_decoding {
    int length, labels;     /* task length; answers of a sequence: none ends before */
    int threads, sequences; /* of the batch */
    /* Answers per second; medians of windows in turn. A pass for each answer has one thread and one sequence, and so has
     * `alone`. */
    double batch, alone, passes;
} lh_bench_decoding;

/* Whether the target decodes with what it keeps: the CPU, where the model does. */
bool lh_bench_decodes(const lh_target *target);

/* Measures decoding at one task length for about `seconds`. Errors: those of opening an engine and of lh_decode. */
lh_status lh_bench_decode(const lh_target *target, int n, int threads, double seconds, lh_bench_decoding *result,
                          lh_error *error);

#endif
