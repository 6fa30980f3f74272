/* Groups of examples for evaluation: a group has the examples of a set with equal values on all requested axes. */
#ifndef LONGHAND_EXAMPLE_GROUPS_H
#define LONGHAND_EXAMPLE_GROUPS_H

#include "longhand/spec.h"
#include "longhand/status.h"

struct lh_corpus;

enum { LH_EVAL_SEED = 1 }; /* default evaluation seed: evaluation data is the same for every run */

/* One condition of an evaluation. */
typedef struct lh_group {
    lh_set set;
    int32_t value[LH_MAX_AXES]; /* value on each requested axis; LH_NO_VALUE: the group's examples have none */
    int64_t first;              /* index of the group's first example in lh_groups.indices */
    int64_t count;              /* number of chosen examples (pick.h) */
    int64_t total;              /* number of examples before the choice, without `left_out` */
    int64_t left_out;           /* number of examples left out because they are also training examples */
} lh_group;

typedef struct lh_groups {
    const char *name[LH_MAX_AXES]; /* names of the requested axes, in the task's order */
    int axes;
    unsigned sets;   /* sum of 1 << lh_set over the sets of the groups */
    lh_group *group; /* [count], ordered by set, then by values on axes */
    int count;
    bool in_order;              /* the first examples of each group in the file are chosen */
    uint32_t *indices;          /* index of each example in its set; pick.h describes the order */
    uint32_t *indices_in_shape; /* index of each example within its shape, in the order of `indices` */
    int32_t reach[LH_MAX_AXES]; /* greatest value of a training example on each requested axis; LH_NO_VALUE: none */
    /* Values of each held-out set on the task's axis `trained`. Element i * stride is 1 if example i is also a training
     * example. NULL: unknown. */
    const int32_t *trained[LH_SETS];
    int stride;
    bool leaves_out_trained; /* groups of held-out sets leave out examples that are also training examples */
} lh_groups;

/* The name "trained": of an axis of the task or, if the task has no such axis, of LH_BY_TRAINED. */
extern const char lh_trained_axis[];

/* Names of sets: "train", "test", "validation". */
extern const char *const lh_set_name[LH_SETS];

/* Makes groups.
 *
 *   by    the requested axes; none: the length
 *   sets  sum of 1 << lh_set over the requested sets; 0: the held-out sets or, if there are none, the training set
 *
 * LH_ERR_INPUT: a set is missing, no example has any of the values, or all examples are left out. Call lh_groups_close
 * also after an error. */
lh_status lh_groups_open(lh_groups *groups, const struct lh_corpus *corpus, const lh_spec *spec, const lh_by *by,
                         unsigned sets, lh_error *error);
void lh_groups_close(lh_groups *groups);

/* Parses names of sets, separated by commas. Returns the sum of 1 << lh_set; 0: the text is invalid. */
unsigned lh_sets_parse(const char *text);

/* Returns the share of training examples in a group; -1: unknown.
 *
 *   with lh_groups.leaves_out_trained  the share in `total` and `left_out` examples
 *   else                               the share in chosen examples
 */
double lh_group_compute_trained_share(const lh_groups *groups, const lh_group *group);

/* Whether the group's value on requested axis `axis` is greater than the values of all training examples. False if no
 * training example has a value on this axis. */
bool lh_is_group_beyond(const lh_groups *groups, const lh_group *group, int axis);

/* Returns the counter word `step` of the group's random numbers in evaluation. The word depends on the group's values
 * alone. The word of groups by length is the length. */
uint32_t lh_group_compute_number(const lh_groups *groups, const lh_group *group);

#endif
