/* See best.h. */
#include "training/best.h"

#include <math.h>
#include <string.h>

/* Whether a condition's result counts in the score. */
static bool is_scored(const lh_spec *spec, const lh_eval_result *result) {
    if (result->counted == 0) return false;
    if (result->group == NULL) return strcmp(lh_find_split(spec, result->n), "in_distribution") == 0;
    for (int i = 0; i < result->groups->axes; i++)
        if (lh_is_group_beyond(result->groups, result->group, i)) return false;
    return result->group->set == LH_SET_VALIDATION;
}

/* The score of an evaluation; NAN: no condition counts. */
static double compute_score(const lh_spec *spec, const lh_eval_result *results, int count) {
    const char *metric = spec->train.best;
    double sum = 0, examples = 0;
    for (int i = 0; i < count; i++) {
        const lh_eval_result *result = &results[i];
        double value = strcmp(metric, "loss") == 0          ? result->loss
                       : strcmp(metric, "exact_match") == 0 ? result->exact_match
                                                            : result->accuracy;
        if (!is_scored(spec, result)) continue;
        sum += value * result->examples;
        examples += result->examples;
    }
    return examples > 0 ? sum / examples : NAN;
}

bool lh_best_add(lh_best *best, const lh_spec *spec, int64_t step, const lh_eval_result *results, int count) {
    if (step <= best->last_evaluated_step) return false;
    double score = compute_score(spec, results, count);
    bool is_lower_better = strcmp(spec->train.best, "loss") == 0;
    bool is_first = best->step == 0 && !isnan(score);
    bool is_better = is_first || (is_lower_better ? score < best->score : score > best->score);
    /* If scores are equal, the latest checkpoint is the best unless train.best_earliest is set. */
    bool is_best = is_better || (score == best->score && !spec->train.best_earliest);
    best->last_evaluated_step = step;
    best->waited_evaluations = is_better ? 0 : best->waited_evaluations + 1;
    if (is_best) {
        best->step = step;
        best->score = score;
    }
    return is_best;
}

bool lh_best_is_exhausted(const lh_best *best, const lh_spec *spec) {
    return spec->train.patience > 0 && best->waited_evaluations >= spec->train.patience;
}
