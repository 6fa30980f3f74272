/* Shared checks of the tests of runtime/data/tasks: a sampler writes only into its arrays, examples of every length
 * obey a rule, the rule accepts worked examples, symbols are equally frequent, and simple predictors score as
 * expected. */
#ifndef LH_TASKS_H
#define LH_TASKS_H

#include <stdbool.h>

#include "longhand/task.h"

enum { LH_TASKS_LONGEST = 2001, LH_TASKS_OUTPUTS = 2 * LH_TASKS_LONGEST };

/* An example. counted: number of outputs that the mask counts, which come first. */
typedef struct lh_drawn_example {
    int n, inputs, outputs, counted;
    uint16_t input[LH_TASKS_LONGEST + 1], target[LH_TASKS_OUTPUTS + 1];
    uint8_t mask[LH_TASKS_OUTPUTS + 1];
} lh_drawn_example;

/* Whether the input is valid for the task, and target and counted are the answer to this input. */
typedef bool lh_task_rule(const lh_drawn_example *example);

typedef struct lh_task_case {
    lh_task_sample *sample;
    lh_task_rule *rule;
    int (*inputs)(int n), (*outputs)(int n); /* numbers of tokens of an example of task length n */
    int symbols, classes;                    /* sizes of the alphabets of inputs and outputs */
    const int *options;
} lh_task_case;

/* Formulas of lengths, which return n, 1 and n + 1. */
int lh_keep_length(int n);
int lh_get_one(int n);
int lh_add_one(int n);

/* Makes example `index` of step `step`; fails if an element after an array is written, a token is outside its alphabet,
 * or the counted outputs do not come first. */
void lh_draw_example(const lh_task_case *task, int n, uint32_t step, uint32_t index, lh_drawn_example *result);

/* Checks 20 examples of every length 1..40, 41, 77, 150, 499, 500, and two of the longest, by the rule. */
void lh_check_every_length(const lh_task_case *task);

/* Tokens are digits, a for 10; in the target, | follows the last counted output. The rule must accept the example, and
 * must refuse it with any one token of the target changed or with one counted output fewer. */
void lh_check_worked_example(const lh_task_case *task, const char *input, const char *target);

/* Returns the 1 - 1e-5 quantile of chi-square with this number of degrees of freedom. Tests sample fixed examples,
 * so a test that passes does not fail by chance later. */
double lh_compute_chi_limit(int freedom);

/* Checks that all symbols are equally frequent at every position of the input, and all pairs of symbols at every two
 * neighbouring positions. */
void lh_check_uniform(const lh_task_case *task);

/* Fails unless all categories are equally frequent. */
void lh_check_equal(const long *counts, int categories);

/* Predicts one token for all outputs of an example. */
typedef int lh_task_guess(const lh_task_case *task, const lh_drawn_example *example);
int lh_guess_0(const lh_task_case *task, const lh_drawn_example *example);
int lh_guess_1(const lh_task_case *task, const lh_drawn_example *example);

/* Predicts the most frequent token of the input among the first `classes` symbols. */
int lh_guess_most_frequent(const lh_task_case *task, const lh_drawn_example *example);

/* The accuracy of a guess in percent: the mean over lengths, and the standard error of this mean. */
typedef struct lh_score {
    double mean, error;
} lh_score;

/* Computes the score of a guess at every `step`th length from `first` to `last`. examples: number per length. */
lh_score lh_score_guess(const lh_task_case *task, lh_task_guess *guess, int first, int last, int step, int examples);

/* Checks the score over every `step`th length of 41..500 against a published or derived number `expected`. They may
 * differ by four standard errors plus own_error, the error of `expected`. Each length has 40 examples. If the
 * environment variable LH_TASK_EXAMPLES is set, each length has that many examples, and `step` is 1. */
void lh_check_score(const lh_task_case *task, lh_task_guess *guess, int step, double expected, double own_error);

/* Computes the mean number of counted outputs per input token over lengths 41..500. */
double lh_compute_counted_share(const lh_task_case *task, int examples);

#endif
