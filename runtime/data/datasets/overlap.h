/* Counts overlaps of dataset files: held-out examples that are also training examples, held-out examples whose input is
 * in the training set only with other targets, and duplicates in a held-out set. Examples are compared by hashes of
 * their tokens, and token by token if the hashes are equal. */
#ifndef LONGHAND_OVERLAP_H
#define LONGHAND_OVERLAP_H

#include "data/datasets/corpus.h"

enum { LH_OVERLAP_LINES = 3 }; /* line numbers in an lh_overlap_count */

/* The number of examples of one kind, and the lines of the first examples. */
typedef struct lh_overlap_count {
    int64_t count;
    uint32_t line[LH_OVERLAP_LINES];
} lh_overlap_count;

typedef struct lh_overlap {
    lh_overlap_count trained;    /* examples that are also training examples */
    lh_overlap_count input;      /* the input occurs in training with other targets only */
    lh_overlap_count duplicates; /* input and target occur earlier in the same set */
} lh_overlap;

/* Compares a held-out set with the training examples. trained: [count of the set] 1 if input and target equal the input
 * and target of a training example, else 0; NULL: not requested. LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_overlap_count_examples(const lh_corpus *corpus, lh_set set, lh_overlap *overlap, uint8_t *trained,
                                    lh_error *error);

#endif
