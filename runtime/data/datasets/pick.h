/* Chooses examples from a dataset that has more examples than requested: a fixed pseudo-random subset, by a hash
 * of line number and evaluation seed, or the first lines of the file. Subsets are nested: the 100 examples of one
 * evaluation are among the 500 of another evaluation with the same seed. */
#ifndef LONGHAND_PICK_H
#define LONGHAND_PICK_H

#include "data/datasets/example_groups.h"

struct lh_dataset;

typedef struct lh_pick {
    int64_t limit;           /* maximum number of examples per condition; 0: all */
    uint64_t seed;           /* evaluation seed */
    bool in_order;           /* choose the first examples of the file */
    int64_t preferred_count; /* examples in the first part of a group (lh_pick_examples); 0: one part */
} lh_pick;

/* Evaluations during training decode only the first examples of a condition, at most this number. */
enum { LH_MAX_GREEDY_IN_TRAINING = 128 };

/* Reduces each group to its chosen examples. First come the examples that would be chosen with the limit
 * choice->preferred_count, then the others; each part is ordered by index. lh_group.total remains the number of all
 * examples. groups must come from lh_groups_open. LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_pick_examples(lh_groups *groups, const struct lh_corpus *corpus, const lh_pick *choice, lh_error *error);

/* Sorts indices of examples of a set in the order in which they are chosen; LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_pick_sort(const struct lh_dataset *set, const lh_pick *choice, uint32_t *indices, int64_t count,
                       lh_error *error);

/* Reduces *count indices of examples of a set to the chosen examples, in ascending order; changes nothing if all are
 * chosen. LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_pick_example_indices(const struct lh_dataset *set, const lh_pick *choice, uint32_t *indices,
                                  int64_t *count, lh_error *error);

#endif
