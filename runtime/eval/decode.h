/* Answers of a model to inputs: greedy decoding. */
#ifndef LONGHAND_DECODE_H
#define LONGHAND_DECODE_H

#include "train/engine.h"

/* Answers to `count` sequences at a reserved length. query: of the first, without target; the inputs of all lie side by
 * side, [count][input length], their examples are numbered on from it, and its draw is that of all, as in a batch. to: see
 * lh_answers.
 *
 * Where a stream holds the target (lh_format.teacher_forced) each answer, the greatest logit (the first of equals), is the
 * target of those behind it: token by token where the engine decodes, else one pass for each. A sequence ends with the
 * task's end symbol (lh_task.end), whatever the others do. Which of a batch's are right: compare with its labels where
 * its mask is 1. What a model attends to while it decodes is what it attends to in one pass over the answers:
 * lh_engine_ops.trace of a query with them for its target.
 *
 * Errors: those of predict, and LH_ERR_ENVIRONMENT; LH_STOPPED, between two tokens or passes, where engine->stop is set. */
lh_status lh_decode(lh_engine *engine, const lh_query *query, int count, const lh_answers *to, lh_error *error);

#endif
