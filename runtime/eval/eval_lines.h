/* eval.jsonl: one line per condition. */
#ifndef LONGHAND_EVAL_LINES_H
#define LONGHAND_EVAL_LINES_H

#include "base/json_text.h"
#include "eval/evaluate.h"

/* Writes the place of a result: the task length, or the values on the axes of its group; and the noise. */
void lh_eval_write_by(lh_json *by, const lh_eval_result *result);

/* Whether lines say of which split they are. */
static inline bool lh_several_sets(const lh_groups *groups) { return (groups->sets & (groups->sets - 1)) != 0; }

/* Writes the place in a line of a file of its own: the split where there are several. */
void lh_eval_write_place(lh_json *line, const lh_eval_result *result);

/* Appends a result. The seed is written where it is not LH_EVAL_SEED. */
lh_status lh_eval_append(const char *path, int64_t step, uint64_t seed, const lh_eval_result *result, lh_error *error);

/* Looks in path for results of this step and seed with the same split, condition, examples and draws as results[i];
 * found[i] is set and the values are filled in where there is one. Of data files: of the same choice among the same file's
 * examples; a line that does not say which file is of the one that run.json next to it names. A missing file has none; a torn line is skipped. */
lh_status lh_eval_find(const char *path, int64_t step, uint64_t seed, lh_eval_result *results, bool *found, int count,
                       lh_error *error);

#endif
