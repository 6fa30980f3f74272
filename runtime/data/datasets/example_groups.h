/* Groups of a dataset's examples for evaluation: those of a set that agree on all requested axes. */
#ifndef LONGHAND_EXAMPLE_GROUPS_H
#define LONGHAND_EXAMPLE_GROUPS_H

#include "longhand/spec.h"
#include "longhand/status.h"

struct lh_corpus;

enum { LH_EVAL_SEED = 1 }; /* evaluation data is the same for every run unless another seed is asked for */

/* One condition of an evaluation. An axis on which the set's examples say nothing has LH_NO_VALUE. */
typedef struct lh_group {
    lh_set set;
    int32_t value[LH_MOST_AXES]; /* on each axis asked for */
    int64_t first, count;        /* of its examples in place and pick */
    int64_t of;                  /* examples there are; more than count where some were chosen (data/datasets/pick.h) */
    int64_t left_out;            /* examples like them that were trained on, where those do not count */
} lh_group;

typedef struct lh_groups {
    const char *name[LH_MOST_AXES]; /* of the axes asked for, in the task's order */
    int axes;
    unsigned sets;   /* 1 << lh_set for each */
    lh_group *group; /* by set, then by their values in the order of axes */
    int count;
    bool in_order;   /* the first ones of the file were chosen, where a group has fewer than there are */
    uint32_t *place; /* of an example in its set; within a group in the set's order, so by shape */
    uint32_t *pick;  /* the same within its shape */
    int32_t
        reach[LH_MOST_AXES]; /* the greatest value of a training example on each axis asked for; LH_NO_VALUE: none */
    const int32_t
        *trained[LH_SETS]; /* of examples by place, a value every `stride`: 1 where the example is among those */
    int stride;            /* trained on; NULL: nobody says */
    bool novel;            /* what is held out is without those */
} lh_groups;

/* The name of LH_BY_TRAINED. */
extern const char lh_trained_axis[];

/* "train", "test", "validation" */
extern const char *const lh_set_name[LH_SETS];

/* by: the spec's; sets: 0 for those held out from training, or training examples where there are none. LH_ERR_INPUT
 * where a set is not there, or no example has any of the values. Whatever the outcome, groups is for lh_groups_close.
 */
lh_status lh_groups_open(lh_groups *groups, const struct lh_corpus *corpus, const lh_spec *spec, const lh_by *by,
                         unsigned sets, lh_error *error);
void lh_groups_close(lh_groups *groups);

/* The sets that a text names, with commas between them, as 1 << lh_set for each; 0: the text is something else. */
unsigned lh_sets_of(const char *text);

/* The share of a group's examples that is among those trained on, of all there are where those are left out; -1: nobody
 * says. */
double lh_group_trained(const lh_groups *groups, const lh_group *group);

/* Whether the group's value on an axis asked for is greater than that of any training example. */
bool lh_group_is_beyond(const lh_groups *groups, const lh_group *group, int axis);

/* A number that a group has by its values alone; by length it is the length. Evaluation counts random numbers by it. */
uint32_t lh_group_number(const lh_groups *groups, const lh_group *group);

#endif
