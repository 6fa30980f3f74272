/* What a model answers where it is wrong: greedy decoding of examples that an evaluation found wrong, as JSON lines. */
#ifndef LONGHAND_WRONG_H
#define LONGHAND_WRONG_H

#include "eval/evaluate.h"

enum { LH_MOST_WRONG = 20 /* of a condition and draw */ };

/* Lines of the examples of a batch that are wrong by `each`, as many as there is room for: *written of LH_MOST_WRONG are
 * there already. before: examples of the result that came before. None under noise, without which one decodes.
 * Errors: those of lh_decode, and LH_ERR_ENVIRONMENT without memory. */
lh_status lh_write_wrong(FILE *out, lh_engine *engine, const lh_eval_result *result, const lh_condition *condition,
                         int draw, int before, const lh_sums *each, int *written, lh_error *error);

#endif
