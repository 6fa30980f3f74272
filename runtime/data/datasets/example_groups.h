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
    int64_t first;              /* index in `indices` and `indices_in_shape` of the group's first example */
    int64_t count;              /* number of the group's examples */
    int64_t total;              /* examples that are not left out; count is less if only some are chosen (pick.h) */
    int64_t left_out;           /* examples left out because they are also training examples */
} lh_group;

typedef struct lh_groups {
    const char *name[LH_MAX_AXES]; /* names of the requested axes, in the task's order */
    int axes;
    unsigned sets;   /* the sets of the groups, 1 << lh_set for each */
    lh_group *group; /* [count], ordered by set, then by values in the order of axes */
    int count;
    bool in_order;              /* the chosen examples of a group are its first examples in the file */
    uint32_t *indices;          /* examples, as indices in their set; in ascending order in a group, or in each of a
                                 * group's two parts (pick.h) */
    uint32_t *indices_in_shape; /* index of each example of `indices` within its shape */
    int32_t reach[LH_MAX_AXES]; /* greatest value of a training example on each requested axis; LH_NO_VALUE: none */
    /* For each held-out set, the values on the task's axis `trained`: element i * stride is 1 if example i is also a
     * training example. NULL: unknown. */
    const int32_t *trained[LH_SETS];
    int stride;
    bool leaves_out_trained; /* groups of held-out sets leave out examples that are also training examples */
} lh_groups;

/* The name of LH_BY_TRAINED. */
extern const char lh_trained_axis[];

/* Names of sets: "train", "test", "validation". */
extern const char *const lh_set_name[LH_SETS];

/* Makes groups. by: the requested axes; if there are none, the axis is the length. sets: the sets, 1 << lh_set for
 * each; 0: the held-out sets or, if there are none, the training set. LH_ERR_INPUT: a set is missing, no example has
 * any of the values, or all examples are left out. Call lh_groups_close also after an error. */
lh_status lh_groups_open(lh_groups *groups, const struct lh_corpus *corpus, const lh_spec *spec, const lh_by *by,
                         unsigned sets, lh_error *error);
void lh_groups_close(lh_groups *groups);

/* Parses names of sets, separated by commas, to a sum of 1 << lh_set; 0: the text is invalid. */
unsigned lh_sets_parse(const char *text);

/* The share of a group's examples that are also training examples; -1: unknown. It is the share of the chosen examples
 * or, with lh_groups.leaves_out_trained, of all examples including those that are left out. */
double lh_group_compute_trained_share(const lh_groups *groups, const lh_group *group);

/* Whether the group's value on the requested axis with index `axis` is greater than the values of all training
 * examples; false if no training example has a value on this axis. */
bool lh_is_group_beyond(const lh_groups *groups, const lh_group *group, int axis);

/* The counter word `step` of the group's random numbers in evaluation. It depends on the group's values alone; for
 * groups by length it is the length. */
uint32_t lh_group_compute_number(const lh_groups *groups, const lh_group *group);

#endif
