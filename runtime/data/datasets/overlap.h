/* Examples that files have in common: held-out ones that are among those of training, training inputs with another
 * target, and examples that a held-out set has twice. Examples are compared by hashes of their tokens, and those that a
 * hash finds by the tokens themselves. */
#ifndef LONGHAND_OVERLAP_H
#define LONGHAND_OVERLAP_H

#include "data/datasets/corpus.h"

enum { LH_OVERLAP_LINES = 3 }; /* that are named */

/* Examples of one kind, and the lines of the first of them. */
typedef struct lh_overlap_count {
    int64_t count;
    uint32_t line[LH_OVERLAP_LINES];
} lh_overlap_count;

typedef struct lh_overlap {
    lh_overlap_count trained; /* input and target are those of a training example */
    lh_overlap_count input;   /* the input is one of training, which has other targets alone */
    lh_overlap_count twice;   /* input and target stand in the set before */
} lh_overlap;

/* Compares a held-out set with the training examples. trained: [count of the set] 1 where input and target are those of
 * a training example, else 0; NULL: not wanted. LH_ERR_ENVIRONMENT without memory. */
lh_status lh_overlap_count_examples(const lh_corpus *corpus, lh_set set, lh_overlap *overlap, uint8_t *trained,
                                    lh_error *error);

#endif
