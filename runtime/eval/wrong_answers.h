/* A model's wrong answers, as JSON lines. */
#ifndef LONGHAND_WRONG_ANSWERS_H
#define LONGHAND_WRONG_ANSWERS_H

#include "eval/evaluate.h"

enum { LH_MOST_WRONG = 20 /* most wrong answers per condition and draw */ };

/* Writes lines for the examples of a batch that are wrong by `each`. *written counts lines, up to LH_MOST_WRONG.
 * condition->answers and lengths: the answers that count (lh_eval_result.decoding). before: number of the result's
 * examples in earlier batches. Writes nothing under noise. LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_write_wrong_answers(FILE *out, const lh_spec *spec, const lh_eval_result *result,
                                 const lh_condition *condition, int draw, int first_example,
                                 const lh_sums *sequence_sums, const int *lengths, int *written, lh_error *error);

#endif
