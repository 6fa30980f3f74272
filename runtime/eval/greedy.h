/* A model's own answers to the examples of an evaluation: greedy decoding from where the teacher-forced pass is first
 * wrong.
 *
 * A target has U counted labels (mask 1), its end symbol among them. A model answers one label after the other and reads
 * its own answers, and the target's token where the mask is 0; it stops at the last counted label, or earlier at an end
 * symbol that the target does not have there. Answer i is compared with label i; answers that are missing are wrong.
 * What is right in the pass up to label i is answered so, too: a sequence without an error in the pass has the same
 * answers. */
#ifndef LONGHAND_GREEDY_H
#define LONGHAND_GREEDY_H

#include "engine/engine.h"

/* Sums over sequences that were decoded. */
typedef struct lh_greedy_sums {
    int64_t sequences; /* with a counted label */
    int64_t counted, correct;
    int64_t ended_early; /* with an end symbol before the target's, or where it has none */
    int64_t not_ended;   /* whose target has an end symbol that counts, and the answers have none */
} lh_greedy_sums;

/* Decodes the first `count` examples of a condition that was evaluated, unless that has done so (condition->decoded).
 * condition->answers: the pass's; the decoded ones take their place, and lengths[count] says how many there are. each,
 * of that evaluation: NULL, or its counts become those of the answers. Errors: those of lh_decode and lh_batch_fill;
 * LH_ERR_ENVIRONMENT without memory. */
lh_status lh_answer_greedily(lh_engine *engine, const lh_condition *condition, int count, int *lengths, lh_sums *each,
                             lh_greedy_sums *sums, lh_error *error);

void lh_greedy_add(lh_greedy_sums *sums, const lh_greedy_sums *part);

#endif
