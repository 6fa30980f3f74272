/* How sure an evaluation is of what it says: the spread of single sequences, and bounds of a share. */
#ifndef LONGHAND_BY_SEQUENCE_H
#define LONGHAND_BY_SEQUENCE_H

#include "engine/engine.h"

/* The shares of right counted labels of the sequences of one condition. */
typedef struct lh_by_sequence {
    double *share; /* [count] summed over draws; -1: no label of the sequence counts. Owned by the caller */
    int count;
} lh_by_sequence;

/* No sequence has been evaluated yet. */
void lh_by_sequence_begin(lh_by_sequence *of, int count);

/* Adds one draw's sums of sequences first .. first + count - 1; those beyond of->count are left out. */
void lh_by_sequence_add(lh_by_sequence *of, const lh_sums *each, int first, int count);

/* Standard deviation (n - 1) over sequences with a label that counts, of each one's mean over draws; NaN for fewer than
 * two. */
double lh_by_sequence_deviation(const lh_by_sequence *of, int draws);

/* The 95% interval of a share of `count` things, 0 <= share <= 1, count >= 1.
 * Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference". */
void lh_wilson(double share, double count, double *low, double *high);

#endif
