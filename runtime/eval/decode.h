/* Answers of a model to inputs: greedy decoding. */
#ifndef LONGHAND_DECODE_H
#define LONGHAND_DECODE_H

#include "engine/engine.h"

/* Answers to `count` sequences at a reserved length. query: of the first, without target; the inputs of all lie side by
 * side, [count][input length], their examples are numbered on from it, and its draw is that of all, as in a batch. to: see
 * lh_answers.
 *
 * Where a stream holds the target (lh_format.teacher_forced) each answer, the greatest logit (the first of equals), is the
 * target of those behind it: token by token where the engine decodes, else one pass for each, over all sequences that
 * have not ended; as many as were reserved. A sequence ends with the task's end symbol (lh_task.end), whatever the others
 * do. Where the query has the right answers, an end symbol that the target has at the same place does not end it before
 * `until`, and what is not asked for is the target's token. What a model attends to while it decodes is what it attends
 * to in one pass over the answers: lh_engine_ops.trace of a query with them for its target.
 *
 * Errors: those of predict, and LH_ERR_ENVIRONMENT; LH_STOPPED, between two tokens or passes, where engine->stop is set. */
lh_status lh_decode(lh_engine *engine, const lh_query *query, int count, const lh_answers *to, lh_error *error);

#endif
