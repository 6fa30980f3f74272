/* Writes a model's wrong answers as JSON lines. */
#ifndef LONGHAND_WRONG_ANSWERS_H
#define LONGHAND_WRONG_ANSWERS_H

#include <stdio.h>

#include "eval/results.h"

enum { LH_MAX_WRONG = 20 /* maximum number of wrong answers per condition and draw */ };

/* Writes lines for the examples of a batch that have a wrong answer; writes nothing under noise.
 *
 *   result         the result that the batch is a part of
 *   first_example  number of the result's examples in earlier batches
 *   sequence_sums  [condition->examples] sums of each example, which show whether an answer is wrong
 *   lengths        [condition->examples] number of answers of each example in condition->answers
 *   written        number of lines of this condition and draw so far, at most LH_MAX_WRONG; the call raises it
 *
 * Fails as lh_batch_fill does; LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_write_wrong_answers(FILE *out, const lh_spec *spec, const lh_eval_result *result,
                                 const lh_condition *condition, int draw, int first_example,
                                 const lh_sums *sequence_sums, const int *lengths, int *written, lh_error *error);

#endif
