/* Finds the best checkpoint of a run, and whether scores have stopped improving. Each evaluation during training has a
 * score, the mean of the metric train.best over some examples:
 *
 *     sampled task   examples of training lengths
 *     dataset        examples of the validation set that are not beyond training
 */
#ifndef LONGHAND_BEST_H
#define LONGHAND_BEST_H

#include "eval/results.h"

typedef struct lh_best {
    int64_t step;                /* step of the best evaluation; 0: none yet */
    double score;                /* score of this evaluation */
    int64_t last_evaluated_step; /* step of the last added evaluation; 0: none yet */
    int64_t waited_evaluations;  /* evaluations added since the score last improved, or since the start */
} lh_best;

/* Adds the evaluation of a step > 0, unless this or a later evaluation was already added. spec->train.best must not be
 * NULL. Returns whether the added evaluation is the best. */
bool lh_best_add(lh_best *best, const lh_spec *spec, int64_t step, const lh_eval_result *results, int count);

/* Whether the run ends because of spec->train.patience. */
bool lh_best_is_exhausted(const lh_best *best, const lh_spec *spec);

#endif
