/* Reads and writes eval.jsonl, which has one line per condition. */
#ifndef LONGHAND_EVAL_LINES_H
#define LONGHAND_EVAL_LINES_H

#include "base/json_text.h"
#include "eval/by_sequence.h"
#include "eval/by_place.h"
#include "eval/results.h"

/* Begins the line of one example in a file other than eval.jsonl: condition, example, draw and decoding. The caller
 * ends the line. */
void lh_eval_begin_example(lh_json *line, FILE *out, const lh_eval_result *result, int example, int draw);

/* Writes a line for each of `count` examples of a batch. first: number of the result's examples in earlier batches. */
void lh_eval_write_examples(FILE *out, const lh_eval_result *result, int draw, int first, const lh_sums *sequence_sums,
                            int count);

/* Appends a result to path. Writes the seed if it is not LH_EVAL_SEED. places: counts of the condition by place;
 * examples: its single examples; both are NULL if they are not requested. The line has the examples only if
 * result->passes > 0. */
lh_status lh_eval_append(const char *path, int64_t step, uint64_t seed, const lh_eval_result *result,
                         const lh_by_place *places, const lh_by_example *examples, lh_error *error);

/* Looks in path for results of this step and seed with the same split, set, condition, decoding, examples, batch and
 * draws as results[i] (i < count), and with accuracies by place if results[i].has_places. For each match sets
 * is_found[i] and the values of results[i]. With data files, the file and the choice of examples must match, too. A
 * missing file has no lines; a torn line is skipped. */
lh_status lh_eval_find(const char *path, int64_t step, uint64_t seed, lh_eval_result *results, bool *is_found,
                       int count, lh_error *error);

#endif
