/* See results.h. */
#include "eval/results.h"

#include <stdio.h>
#include <string.h>

#include "base/json_text.h"

const char lh_greedy[] = "greedy", lh_teacher_forced[] = "teacher_forced";

const char *const lh_split_name[LH_SPLITS] = {"train", "test", "validation", "in_distribution", "between", "beyond"};

const char *lh_find_split(const lh_spec *spec, int n) {
    int max_length = 0;
    for (int i = 0; i < lh_lengths_count(&spec->train.lengths); i++) {
        int train_length = lh_lengths_get(&spec->train.lengths, i);
        if (train_length == n) return "in_distribution";
        if (train_length > max_length) max_length = train_length;
    }
    return n < max_length ? "between" : "beyond";
}

/* Writes the values of a group. If the groups come from several sets, the name of the group's set comes first. Returns
 * the number of bytes that the text needs. */
static size_t name_group(const lh_eval_result *result, char text[LH_EVAL_NAME]) {
    const lh_groups *groups = result->groups;
    size_t used = 0;
    text[0] = 0;
    if (lh_has_several_sets(groups)) used = (size_t)snprintf(text, LH_EVAL_NAME, "%s", lh_set_name[result->group->set]);
    for (int i = 0; i < groups->axes && used < LH_EVAL_NAME; i++)
        if (result->group->value[i] != LH_NO_VALUE)
            used += (size_t)snprintf(text + used, LH_EVAL_NAME - used, "%s%.40s %d", used > 0 ? ", " : "",
                                     groups->name[i], result->group->value[i]);
    return used;
}

const char *lh_eval_write_name(const lh_eval_result *result, char text[LH_EVAL_NAME]) {
    char noise[LH_NUMBER_TEXT];
    size_t used = result->groups != NULL ? name_group(result, text)
                                         : (size_t)snprintf(text, LH_EVAL_NAME, "%s %d", result->axis, result->n);
    if (result->has_noise && used < LH_EVAL_NAME)
        snprintf(text + used, LH_EVAL_NAME - used, "%snoise %s", used > 0 ? ", " : "",
                 lh_write_shortest(result->noise, noise));
    used = strlen(text);
    if (result->passes > 0)
        snprintf(text + used, LH_EVAL_NAME - used, "%spasses %d", used > 0 ? ", " : "", result->passes);
    return text;
}

lh_eval_means lh_eval_compute_means(const lh_eval_result *results, int count, const char *split) {
    lh_eval_means means = {.count = 0};
    double noise = 0; /* noise and passes of the first result */
    int passes = 0;
    for (int i = 0; i < count; i++) {
        if (strcmp(results[i].split, split) != 0 || results[i].counted == 0) continue;
        if (means.count == 0) noise = results[i].noise, passes = results[i].passes, means.first = results[i].n;
        if (results[i].noise > noise || results[i].passes != passes) continue;
        means.last = results[i].n;
        means.count++;
        means.accuracy += results[i].accuracy;
        means.teacher_forced += results[i].teacher_forced;
        means.exact_match += results[i].exact_match;
        means.loss += results[i].loss;
    }
    if (means.count > 0) {
        means.accuracy /= means.count;
        means.teacher_forced /= means.count;
        means.exact_match /= means.count;
        means.loss /= means.count;
    }
    return means;
}

lh_status lh_check_passes(const lh_engine *engine, const lh_lengths *passes, bool teacher_forced, lh_error *error) {
    const lh_spec *spec = engine->spec;
    if (lh_lengths_find_longest(passes) == 0) return LH_OK;
    if (spec->passes == 0)
        return lh_fail(error, LH_ERR_INPUT, "--passes: the model of this trainer has no loops; leave out the flag");
    if (spec->format->teacher_forced && !teacher_forced)
        return lh_fail(
            error, LH_ERR_INPUT,
            "--passes: decoding needs cached keys of all %d passes, and cannot use another number of passes\n"
            "  expected: --decoding teacher_forced",
            spec->passes);
    return LH_OK;
}
