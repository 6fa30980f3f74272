/* The choice of a dataset's examples where there are more than are wanted: a fixed pseudo-random subset, by a hash of
 * the line's number and the evaluation seed, or the first lines of the file. Subsets are nested: the 100 that one
 * evaluation takes are among the 500 of another with the same seed. */
#ifndef LONGHAND_PICK_H
#define LONGHAND_PICK_H

#include "data/datasets/example_groups.h"

struct lh_dataset;

typedef struct lh_pick {
    int64_t most;  /* examples of a condition; 0: all */
    uint64_t seed; /* of the evaluation */
    bool in_order; /* the first ones of the file */
    int64_t ahead; /* so many of those come before the others, chosen likewise; 0: all are one list */
} lh_pick;

/* On the way a generative model answers at most so many examples of a condition by itself: the first ones. */
enum { LH_GREEDY_DURING = 128 };

/* Leaves each group its chosen examples, in the order of their places (those ahead, then the others); `of` keeps how
 * many there are. Expects groups as lh_groups_open made them. LH_ERR_ENVIRONMENT without memory. */
lh_status lh_pick_examples(lh_groups *groups, const struct lh_corpus *corpus, const lh_pick *choice, lh_error *error);

/* Sorts places of a set by this choice, the first to be taken first; LH_ERR_ENVIRONMENT without memory. */
lh_status lh_pick_sort(const struct lh_dataset *set, const lh_pick *choice, uint32_t *place, int64_t count,
                       lh_error *error);

/* Leaves the chosen ones of *count places of a set, in ascending order. */
lh_status lh_pick_places(const struct lh_dataset *set, const lh_pick *choice, uint32_t *place, int64_t *count,
                         lh_error *error);

#endif
