/* eval.jsonl: one line per condition. */
#ifndef LONGHAND_EVAL_LINES_H
#define LONGHAND_EVAL_LINES_H

#include "base/json_text.h"
#include "eval/evaluate.h"

/* Writes the key `by` of a result: the task length, or the values on the axes of its group, and the noise. */
void lh_eval_write_by(lh_json *by, const lh_eval_result *result);

/* Whether lines name their split. */
static inline bool lh_has_several_sets(const lh_groups *groups) { return (groups->sets & (groups->sets - 1)) != 0; }

/* Writes the condition of a result to a line of a file other than eval.jsonl, with the split if there are several. */
void lh_eval_write_condition(lh_json *line, const lh_eval_result *result);

/* Appends a result. Writes the seed if it is not LH_EVAL_SEED. */
lh_status lh_eval_append(const char *path, int64_t step, uint64_t seed, const lh_eval_result *result, lh_error *error);

/* Looks in path for results of this step and seed with the same split, condition, examples and draws as results[i]. For
 * each match sets found[i] and fills in results[i]. With data files, the file and the choice of examples must match
 * too; a line without a digest belongs to the file in run.json. A missing file has no lines; a torn line is skipped. */
lh_status lh_eval_find(const char *path, int64_t step, uint64_t seed, lh_eval_result *results, bool *found, int count,
                       lh_error *error);

#endif
