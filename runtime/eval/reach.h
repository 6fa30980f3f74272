/* Finds the reach of a model: the task length above which its exact match, or accuracy, stays below a level. Results
 * need not fall with the length, so the lengths are evaluated from the longest on, until a 95% interval begins at the
 * level or above. */
#ifndef LONGHAND_REACH_H
#define LONGHAND_REACH_H

#include "eval/evaluate.h"

typedef struct lh_reach {
    int certain;   /* the greatest length whose 95% interval begins at the level or above; 0: no length */
    int possible;  /* the greatest length whose 95% interval ends at the level or above; 0: no length */
    int evaluated; /* number of evaluated lengths, the longest lengths of the request */
} lh_reach;

/* Evaluates the requested lengths of a sampled task, which must ascend, without noise, until reach->certain is found.
 * level: from 0 to 1, of the exact match or, if uses_accuracy is set, of the accuracy. results: [count], where count is
 * the number of lengths; the last reach->evaluated elements are written. request->watch is called with the number of
 * evaluated lengths and with count. Fails as lh_evaluate does. */
lh_status lh_find_reach(lh_engine *engine, const lh_eval_request *request, bool uses_accuracy, double level,
                        lh_eval_result *results, lh_reach *reach, lh_error *error);

#endif
