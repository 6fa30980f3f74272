/* Decodes the examples of an evaluation greedily.
 *
 * A model answers one label after the other. The model reads its own answers, and the target's token where the mask is
 * 0. Decoding stops at the last counted label (mask 1), or at a wrong end symbol: an end symbol where the target has
 * another token. Missing answers are wrong.
 *
 * The teacher-forced pass gives the same answers up to and including the first error. So decoding starts after this
 * error, and a sequence without an error needs no decoding. */
#ifndef LONGHAND_GREEDY_H
#define LONGHAND_GREEDY_H

#include "engine/engine.h"

/* Counts over decoded sequences and their labels. */
typedef struct lh_greedy_sums {
    int64_t sequences;   /* sequences with a counted label of the final result */
    int64_t counted;     /* labels of final results (lh_task.find_result) with mask 1 */
    int64_t correct;     /* right answers to these labels */
    int64_t exact;       /* sequences that have counted labels, all with right answers */
    int64_t ended_early; /* sequences that stop at a wrong end symbol */
    int64_t not_ended;   /* sequences whose answers have no end symbol, although a counted label is one */
} lh_greedy_sums;

/* Counts the decoded answers to the first `count` examples of an evaluated condition. Decodes the examples, unless the
 * evaluation has decoded them (condition->decoded_count).
 *   condition->answers  on entry the answers of the pass, on return the decoded answers
 *   lengths             [count] number of decoded answers
 *   sequence_sums       [count] sums of the evaluation, or NULL; gets `counted`, `correct` and `exact` of the decoding
 * Fails as lh_decode or lh_batch_fill does; LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_answer_greedily(lh_engine *engine, const lh_condition *condition, int count, int *lengths,
                             lh_sums *sequence_sums, lh_greedy_sums *sums, lh_error *error);

/* Adds every field of addend to sums. */
void lh_greedy_add(lh_greedy_sums *sums, const lh_greedy_sums *addend);

#endif
