/* Results of single sequences of an evaluation. lh_by_sequence and lh_compute_wilson: the statistical uncertainty of a
 * mean over sequences. lh_by_example: the model's own uncertainty in each example. */
#ifndef LONGHAND_BY_SEQUENCE_H
#define LONGHAND_BY_SEQUENCE_H

#include "base/json_text.h"
#include "engine/engine.h"

#define LH_NORMAL_95 1.959963984540054 /* 97.5% quantile of the standard normal distribution */

/* Running mean of values, by Welford's method; all 0 before the first value. */
typedef struct lh_spread {
    double mean;
    double squares; /* sum of squared deviations from the mean */
    int count;
} lh_spread;

void lh_spread_add(lh_spread *spread, double value);

/* The standard deviation (n - 1) of the added values; NaN for fewer than two. */
double lh_spread_compute_deviation(const lh_spread *spread);

/* For each sequence of a condition, the share of its counted labels that are right. */
typedef struct lh_by_sequence {
    double *share; /* [count] summed over draws; -1: no counted label so far; owned by the caller */
    int count;
} lh_by_sequence;

/* Marks all sequences as not evaluated. */
void lh_by_sequence_begin(lh_by_sequence *shares, int count);

/* Adds one draw's sums of sequences first .. first + count - 1; sequences from shares->count on are ignored. */
void lh_by_sequence_add(lh_by_sequence *shares, const lh_sums *sequence_sums, int first, int count);

/* The standard deviation (n - 1) over all sequences with a counted label; the value of a sequence is its mean share
 * over the draws. NaN for fewer than two sequences. */
double lh_by_sequence_compute_deviation(const lh_by_sequence *shares, int draws);

/* The 95% confidence interval of a share of `count` trials, 0 <= share <= 1, count >= 1. Source: Wilson 1927, "Probable
 * inference, the law of succession, and statistical inference". */
void lh_compute_wilson(double share, double count, double *low, double *high);

enum { LH_MAX_LISTED_EXAMPLES = 16384 }; /* keeps a line of eval.jsonl below the readers' limit, also with places */

/* Uncertainty and right answers of the single examples of a condition, in every draw. Such lists for several numbers of
 * passes show the results of a model that chooses the number of passes for each example. */
typedef struct lh_by_example {
    lh_sums *sums; /* [LH_MAX_LISTED_EXAMPLES] in the order of evaluation; NULL: not requested; owned by the caller */
    int64_t count; /* evaluated examples of all draws, which may exceed the list */
} lh_by_example;

/* Appends the sums of `count` sequences of a batch. */
void lh_by_example_add(lh_by_example *examples, const lh_sums *sequence_sums, int count);

/* Writes the key `by_example` if `sums` is set and complete, and every uncertainty is finite. */
void lh_by_example_write(const lh_by_example *examples, lh_json *line);

#endif
