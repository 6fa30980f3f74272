/* Decodes greedily: computes a model's own answers to inputs. */
#ifndef LONGHAND_DECODE_H
#define LONGHAND_DECODE_H

#include "engine/engine.h"

/* Decodes answers to `count` sequences, at most the reserved number, at a reserved length. query->input: [count][input
 * length]; sequence i has index query->example + i in its batch; all share the query's draw. results: see lh_answers.
 *
 * Each answer is the class with the greatest logit (the first one wins a tie). If a stream holds the target
 * (lh_format.teacher_forced), the model reads its earlier answers in place of the target. It decodes token by token if
 * engine->decodes is set and there is no noise. Otherwise, passes run over all unfinished sequences or, if logits are
 * requested, over one sequence; a pass gives at least one more answer to each of its sequences. A sequence ends
 * with the task's end symbol (lh_task.end). If the query has right answers, an end symbol that the target has at the
 * same index is an answer like any other and does not end the sequence; labels with wants_answer = 0 take the target's
 * token. Attention in decoding equals attention in one pass over the answers, so lh_engine_ops.trace shows this
 * attention if the answers are the target of its query.
 *
 * Fails as predict does; LH_ERR_ENVIRONMENT: out of memory; LH_STOPPED: engine->stop was set, which is checked between
 * tokens or passes. */
lh_status lh_decode(lh_engine *engine, const lh_query *query, int count, const lh_answers *results, lh_error *error);

#endif
