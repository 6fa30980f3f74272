/* A model's wrong answers, as JSON lines. */
#ifndef LONGHAND_WRONG_ANSWERS_H
#define LONGHAND_WRONG_ANSWERS_H

#include "eval/evaluate.h"

enum { LH_MOST_WRONG = 20 /* of a condition and draw */ };

/* Lines of the examples of a batch that are wrong by `each`, as many as there is room for: *written of LH_MOST_WRONG
 * are there already. condition->answers with lengths: the answers that count (lh_eval_result.decoding). before:
 * examples of the result that came before. None under noise. LH_ERR_ENVIRONMENT without memory. */
lh_status lh_write_wrong_answers(FILE *out, const lh_spec *spec, const lh_eval_result *result,
                                 const lh_condition *condition, int draw, int before, const lh_sums *each,
                                 const int *lengths, int *written, lh_error *error);

#endif
