/* Computes a model's own answers to the examples of an evaluation: greedy decoding, starting at the first error of the
 * teacher-forced pass.
 *
 * A model answers one label after the other and reads its own answers, or the target's token where the mask is 0. It
 * stops at the last counted label (mask 1), or earlier at a wrong end symbol: an end symbol where the target has
 * another token. Answer i is compared with label i; missing answers are wrong. Up to and including the first error the
 * answers equal the answers of the teacher-forced pass; a sequence without an error needs no decoding. */
#ifndef LONGHAND_GREEDY_H
#define LONGHAND_GREEDY_H

#include "engine/engine.h"

/* Counts over decoded sequences and their labels. */
typedef struct lh_greedy_sums {
    int64_t sequences;   /* sequences with a counted label of the final result */
    int64_t counted;     /* labels of final results (lh_task.find_result) with mask 1 */
    int64_t correct;     /* right answers to these labels */
    int64_t exact;       /* sequences with a counted label whose counted labels all have right answers */
    int64_t ended_early; /* sequences that end with an end symbol where the target has another token */
    int64_t not_ended;   /* sequences whose target has a counted end symbol and whose answers have none */
} lh_greedy_sums;

/* Decodes the first `count` examples of an evaluated condition, unless the evaluation has decoded them
 * (condition->decoded_count). condition->answers has on entry the answers of the pass, on return the decoded answers.
 * lengths: [count] numbers of decoded answers. sequence_sums: [count] sums of the evaluation by example, or NULL; their
 * fields `counted`, `correct` and `exact` are replaced by the counts of the decoded answers. Fails as lh_decode or
 * lh_batch_fill does; LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_answer_greedily(lh_engine *engine, const lh_condition *condition, int count, int *lengths,
                             lh_sums *sequence_sums, lh_greedy_sums *sums, lh_error *error);

/* Adds every field of addend to sums. */
void lh_greedy_add(lh_greedy_sums *sums, const lh_greedy_sums *addend);

#endif
