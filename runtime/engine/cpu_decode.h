/* Decodes blocks of sequences, for the CPU engine alone. */
#ifndef LONGHAND_CPU_DECODE_H
#define LONGHAND_CPU_DECODE_H

#include "engine/cpu_engine.h"

/* Buffers of one thread, which decodes one block of sequences at a time. */
typedef struct lh_decode_lane lh_decode_lane;

/* The greatest number of sequences in a block if there are `count` sequences at task length n. */
int lh_decode_count_sequences(const lh_cpu_engine *cpu, int n, int count);

/* Opens `count` lanes for blocks of up to `sequences` sequences of the step, at task length n. LH_ERR_ENVIRONMENT: out
 * of memory; no lane is open. */
lh_status lh_decode_open(const lh_cpu_engine *cpu, const lh_cpu_step *step, int n, int sequences, int count,
                         lh_decode_lane **lanes, lh_error *error);
void lh_decode_close(lh_decode_lane *lanes, int count);

/* Evaluates examples first .. first + count - 1 of a condition with lane `index`; also decodes the examples whose index
 * is below condition->decoded_count. A pass over the targets gives the sums: the sums of example first + s are added to
 * sums[s / sequences_per_sum] and written to sequence_sums[s] (sequence_sums may be NULL). The model's own answers
 * are written to condition->answers and condition->lengths. Call it after begin_step. Fails as lh_make_examples
 * does; LH_STOPPED: a stop was requested. */
lh_status lh_decode_examples(lh_decode_lane *lanes, int index, const lh_condition *condition, int first, int count,
                             int sequences_per_sum, lh_sums *sums, lh_sums *sequence_sums, lh_error *error);

#endif
