/* Internal declarations of the CPU engine, shared by cpu_engine.c (memory), cpu_step.c (training), cpu_forward.c
 * (evaluation), cpu_decode.c and cpu_trace.c. */
#ifndef LONGHAND_CPU_ENGINE_H
#define LONGHAND_CPU_ENGINE_H

#include <stdatomic.h>

#include "data/datasets/epoch.h"
#include "engine/cpu_workspace.h"
#include "engine/engine.h"

enum { LH_FOLD_PIECES = 16 }; /* pieces of the gradient; threads can add different pieces to the total at once */

typedef struct lh_cpu_engine {
    lh_engine engine;
    lh_engine_config config;
    const lh_cpu_program *program;
    lh_key data_key, draws_key; /* keys of LH_SEED_DATA and LH_SEED_DRAWS */

    lh_state host_state; /* the vectors below, if the engine trains */
    /* Vectors of [parameter_storage] real, all in one allocation that begins with the parameters. */
    void *parameters;
    void *total; /* sum of the shards' gradients; zero between steps */
    void *state[LH_MAX_STATES];
    void *last_gradient; /* gradient of the last step; NULL: the configuration does not store it */
    void *tables;
    int tables_length[LH_MAX_STREAMS]; /* maximum length of sequences that `tables` serve */

    lh_cpu_workspaces *workspaces;
    lh_cpu_workspace *workspace; /* workspace of the current call; NULL between calls */

    lh_cpu_step job;                  /* the current step */
    lh_batch_parts parts;             /* the step's batch, divided by length */
    int64_t labels;                   /* label positions of the step's batch, masked positions included */
    int *shard_starts;                /* [shards + 1] first sequence of each shard, then the number of sequences */
    const uint32_t *indices_in_shape; /* lh_source.indices_in_shape of the batch */
    atomic_int next_shard;            /* next shard that no thread has taken */
    atomic_int turn[LH_FOLD_PIECES];  /* for each piece: the next shard that adds its gradient to the total */

    lh_epoch epoch;               /* dataset: order of the current epoch */
    lh_cpu_forward_needs forward; /* memory needs of all reserved evaluations */
} lh_cpu_engine;

/* The number of chunks of LH_CHUNK elements in the parameter vector. */
static inline int64_t lh_cpu_count_chunks(const lh_cpu_engine *cpu) {
    return cpu->engine.spec->parameter_storage / LH_CHUNK;
}

/* Makes position tables for sequences of up to length[stream] tokens. */
lh_status lh_cpu_grow_tables(lh_cpu_engine *cpu, const int length[LH_MAX_STREAMS], lh_error *error);

lh_status lh_cpu_engine_step(lh_engine *engine, int count, lh_step_metrics *metrics, int *steps_done, lh_error *error);

/* lh_cpu_begin_call takes a workspace for a call, lh_cpu_end_call gives it back; is_clean: see cpu_workspace.h.
 * LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_cpu_begin_call(lh_cpu_engine *cpu, lh_error *error);
void lh_cpu_end_call(lh_cpu_engine *cpu, bool is_clean);

/* The step of an evaluation or query of `sequences` sequences. Needs the workspace of a call (lh_cpu_begin_call). */
lh_cpu_step lh_cpu_make_forward_step(const lh_cpu_engine *cpu, int n, int sequences, const lh_draw *draw);
lh_cpu_step lh_cpu_make_query_step(const lh_cpu_engine *cpu, const lh_query *query, int sequences);

/* Makes the step of a query and its block of one sequence in lane 0, and runs begin_step. */
void lh_cpu_begin_query(lh_cpu_engine *cpu, const lh_query *query, lh_cpu_step *step, lh_cpu_block *block);

/* Copies the logits of lane 0's sequence to doubles, [labels][classes]. */
void lh_cpu_copy_logits(const lh_cpu_engine *cpu, int labels, double *logits);

/* Functions of lh_engine_ops: */
lh_status lh_cpu_reserve(lh_engine *engine, const lh_lengths *lengths, int examples, lh_error *error);
lh_status lh_cpu_evaluate(lh_engine *engine, const lh_condition *condition, lh_sums *sums, lh_sums *sequence_sums,
                          lh_error *error);
lh_status lh_cpu_predict(lh_engine *engine, const lh_query *query, double *logits, lh_error *error);
lh_status lh_cpu_answer(lh_engine *engine, const lh_query *query, int count, uint16_t *answers, lh_error *error);
lh_status lh_cpu_decode(lh_engine *engine, const lh_query *query, int count, const lh_answers *to, lh_error *error);
lh_status lh_cpu_trace(lh_engine *engine, const lh_query *query, const lh_trace *to, double *logits, lh_error *error);

#endif
