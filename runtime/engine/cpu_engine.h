/* Inside the CPU engine: shared by cpu_engine.c (memory), cpu_step.c (training), cpu_forward.c (evaluation),
 * cpu_decode.c and cpu_trace.c. */
#ifndef LONGHAND_CPU_ENGINE_H
#define LONGHAND_CPU_ENGINE_H

#include <stdatomic.h>

#include "data/datasets/epoch.h"
#include "engine/cpu_workspace.h"
#include "engine/engine.h"

enum { LH_FOLD_PIECES = 16 }; /* the gradient is folded in so many pieces, so that threads follow each other closely */

typedef struct lh_cpu_engine {
    lh_engine engine;
    lh_engine_config config;
    const lh_cpu_program *program;
    lh_key key;

    lh_state own;                                    /* the vectors below, where it trains */
    void *parameters, *total, *state[LH_MAX_STATES]; /* [parameter_storage] real each; total: the folded gradient, zero
                                                      * between steps. One piece, parameters first. */
    void *kept;                                      /* the gradient of the last step; NULL: not kept */
    void *tables;
    int tables_longest[LH_MAX_STREAMS]; /* sequences that tables serve */

    lh_cpu_workspaces *workspaces;
    lh_cpu_workspace *workspace; /* while it works; NULL between two calls */

    lh_cpu_step job;                 /* the running step */
    int length;                      /* its task length */
    const uint32_t *pick;            /* finite data: its examples; NULL: those in the file's order */
    atomic_int next_shard;           /* the next one that nobody took */
    atomic_int turn[LH_FOLD_PIECES]; /* the shard whose piece is folded next */

    lh_epoch epoch;               /* finite data: the order of training */
    lh_cpu_forward_needs forward; /* of all that was reserved */
} lh_cpu_engine;

/* Number of LH_CHUNK elements in the parameter vector. */
static inline int64_t lh_cpu_chunks(const lh_cpu_engine *cpu) { return cpu->engine.spec->parameter_storage / LH_CHUNK; }

/* Position tables for sequences of up to so many tokens in each stream. */
lh_status lh_cpu_need_tables(lh_cpu_engine *cpu, const int longest[LH_MAX_STREAMS], lh_error *error);

lh_status lh_cpu_engine_step(lh_engine *engine, int count, lh_step_metrics *metrics, int *done, lh_error *error);

/* A room for a call, until lh_cpu_leave; clean as in cpu_workspace.h. LH_ERR_ENVIRONMENT without memory. */
lh_status lh_cpu_enter(lh_cpu_engine *cpu, lh_error *error);
void lh_cpu_leave(lh_cpu_engine *cpu, bool clean);

/* The step of an evaluation, and of a query, for so many sequences. In a workspace. */
lh_cpu_step lh_cpu_forward_step(const lh_cpu_engine *cpu, int n, int sequences, const lh_draw *draw);
lh_cpu_step lh_cpu_query_step(const lh_cpu_engine *cpu, const lh_query *query, int sequences);
/* The step and the one-sequence block of a query in lane 0, begun. */
void lh_cpu_begin_query(lh_cpu_engine *cpu, const lh_query *query, lh_cpu_step *step, lh_cpu_block *block);
/* The logits of lane 0's sequence as doubles, [labels][classes]. */
void lh_cpu_take_logits(const lh_cpu_engine *cpu, int labels, double *logits);

lh_status lh_cpu_reserve(lh_engine *engine, const lh_lengths *lengths, int examples, lh_error *error);
lh_status lh_cpu_evaluate(lh_engine *engine, const lh_condition *condition, lh_sums *sums, lh_sums *each,
                          lh_error *error);
lh_status lh_cpu_predict(lh_engine *engine, const lh_query *query, double *logits, lh_error *error);
lh_status lh_cpu_answer(lh_engine *engine, const lh_query *query, int count, uint16_t *answers, lh_error *error);
lh_status lh_cpu_decode(lh_engine *engine, const lh_query *query, int count, const lh_answers *to, lh_error *error);
lh_status lh_cpu_trace(lh_engine *engine, const lh_query *query, const lh_trace *to, double *logits, lh_error *error);

#endif
