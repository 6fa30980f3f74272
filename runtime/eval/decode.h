/* Answers of a model to one input. */
#ifndef LONGHAND_DECODE_H
#define LONGHAND_DECODE_H

#include "train/engine.h"

/* Logits of a query without target at a reserved length, [labels][classes]. Where a stream holds the target
 * (lh_format.teacher_forced) each answer, the greatest logit (the first of equals), is the target of those behind it:
 * token by token where the engine decodes, else one pass for each. answers: [labels], written; NULL: not wanted. Errors:
 * those of predict, and LH_ERR_ENVIRONMENT. */
lh_status lh_decode(lh_engine *engine, const lh_query *query, double *logits, uint16_t *answers, lh_error *error);

#endif
