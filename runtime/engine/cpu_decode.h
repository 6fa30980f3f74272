/* Inside the CPU engine: blocks of sequences that are decoded (cpu_decode.c). */
#ifndef LONGHAND_CPU_DECODE_H
#define LONGHAND_CPU_DECODE_H

#include "engine/cpu_engine.h"

/* Memory of a thread that decodes one block. */
typedef struct lh_decode_lane lh_decode_lane;

/* Sequences of a block, at most, where there are `count` at task length n. */
int lh_decode_sequences(const lh_cpu_engine *cpu, int n, int count);

/* `count` lanes for blocks of up to `sequences` of the step's, at task length n. LH_ERR_ENVIRONMENT without memory:
 * none is open. */
lh_status lh_decode_open(const lh_cpu_engine *cpu, const lh_cpu_step *step, int n, int sequences, int count,
                         lh_decode_lane **lanes, lh_error *error);
void lh_decode_close(lh_decode_lane *lanes, int count);

/* Examples first .. first + count - 1 of a condition with lane `index`, as evaluate has them with condition->decoded:
 * a pass over the targets, whose sums are added to sums[s / summed] and written to each[s] (NULL: nowhere), and the
 * model's own answers. After begin_step. Errors: those of lh_batch_fill; LH_STOPPED. */
lh_status lh_decode_examples(lh_decode_lane *lanes, int index, const lh_condition *condition, int first, int count,
                             int summed, lh_sums *sums, lh_sums *each, lh_error *error);

#endif
