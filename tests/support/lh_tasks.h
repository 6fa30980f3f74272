/* Shared checks of the tests of runtime/data/tasks: one example with guards around it, every length against a rule, the
 * paper's worked examples, and the scores of predictors. */
#ifndef LH_TASKS_H
#define LH_TASKS_H

#include <stdbool.h>

#include "longhand/task.h"

enum { LH_TASKS_LONGEST = 2001, LH_TASKS_OUTPUTS = 2 * LH_TASKS_LONGEST };

/* An example. counted: outputs that the mask counts, from the first on. */
typedef struct lh_drawn {
    int n, inputs, outputs, counted;
    uint16_t input[LH_TASKS_LONGEST + 1], target[LH_TASKS_OUTPUTS + 1];
    uint8_t mask[LH_TASKS_OUTPUTS + 1];
} lh_drawn;

/* Whether the input is one that the task has, and target and counted are those of this input. */
typedef bool lh_task_rule(const lh_drawn *drawn);

typedef struct lh_task_case {
    lh_task_sample *sample;
    lh_task_rule *rule;
    int (*inputs)(int n), (*outputs)(int n);
    int symbols, classes;
    const int *options;
} lh_task_case;

/* Lengths: n, 1, n + 1. */
int lh_same(int n);
int lh_one(int n);
int lh_one_more(int n);

/* Example `index` of step `step`; fails where something is written beyond the ends, a token is outside its alphabet, or
 * the mask does not count the first outputs alone. */
void lh_draw_example(const lh_task_case *task, int n, uint32_t step, uint32_t index, lh_drawn *drawn);

/* 20 examples of every length 1..40, 41, 77, 150, 499, 500, and two of the longest, by the rule. */
void lh_check_every_length(const lh_task_case *task);

/* Tokens as digits, a for 10; in the target, | stands behind the last output that counts. The rule must agree with the
 * example, and with no other target and no other end. */
void lh_check_worked(const lh_task_case *task, const char *input, const char *target);

/* 1 - 1e-5 points of chi-square with so many degrees of freedom; tests have fixed draws. */
double lh_chi_limit(int freedom);

/* Every position of the input takes every symbol equally often, and so does every pair of neighbours. */
void lh_check_uniform(const lh_task_case *task);

/* Fails unless all categories are seen equally often. */
void lh_check_equal(const long *seen, int categories);

/* Prediction for every output of an example. */
typedef int lh_task_guess(const lh_task_case *task, const lh_drawn *drawn);
int lh_guess_0(const lh_task_case *task, const lh_drawn *drawn);
int lh_guess_1(const lh_task_case *task, const lh_drawn *drawn);
int lh_guess_most_frequent(const lh_task_case *task, const lh_drawn *drawn); /* of the first `classes` symbols */

/* Mean over lengths of the pooled accuracy, in percent, and its standard error. */
typedef struct lh_score {
    double mean, error;
} lh_score;
lh_score lh_score_of(const lh_task_case *task, lh_task_guess *guess, int first, int last, int step, int examples);

/* The score over lengths 41..500, at every `step`th, against the paper's sheet: within four standard errors and what
 * the sheet's own number may be off by. LH_TASK_EXAMPLES: examples of every length, default 40. */
void lh_check_score(const lh_task_case *task, lh_task_guess *guess, int step, double want, double sheet_error);

/* Mean number of counted outputs per input token over lengths 41..500. */
double lh_counted_share(const lh_task_case *task, int examples);

#endif
