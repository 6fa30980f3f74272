/* Decodes greedily: computes a model's own answers to inputs. */
#ifndef LONGHAND_DECODE_H
#define LONGHAND_DECODE_H

#include "engine/engine.h"

/* Decodes answers to `count` sequences, at most the reserved number, at a reserved length. All sequences share the
 * query's draw; sequence i has index query->example + i in the batch. results: see lh_answers.
 *
 * Each answer is the class with the greatest logit; the first one wins a tie. If a stream holds the target
 * (lh_format.teacher_forced):
 * - the model reads its earlier answers in place of the target;
 * - labels with wants_answer = 0 take the target's token;
 * - a sequence ends after the first answer for which lh_is_last_answer is true;
 * - with engine->decodes and no noise, ops->decode decodes; otherwise passes do (engine/decode_passes.h);
 * - a pass with the answers as target has the same attention as decoding, so ops->trace can show this attention.
 *
 * Fails as predict does; LH_ERR_ENVIRONMENT: out of memory; LH_STOPPED: engine->stop was set. */
lh_status lh_decode(lh_engine *engine, const lh_query *query, int count, const lh_answers *results, lh_error *error);

#endif
