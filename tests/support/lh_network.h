/* Two kinds of tables, which render_networks.lua writes for tests: descriptions of networks for kernels/ref/network.h,
 * some of specs and some random, and the memory that the plans of specs state.
 */
#ifndef LH_NETWORK_H
#define LH_NETWORK_H

#include "kernels/ref/network.h"
#include "longhand/cpu.h"

extern const lh_ref_network *const lh_networks;
extern const int lh_network_count;

/* The memory that the plan of a spec states for training at a level. */
typedef struct lh_memory_plan {
    const char *id, *level;           /* id: the spec */
    int length[LH_MAX_STREAMS];       /* tokens of a sequence in each stream */
    int sequences;                    /* sequences of a block */
    size_t workspace, shared, tables; /* bytes */
} lh_memory_plan;

extern const lh_memory_plan *const lh_memory_plans;
extern const int lh_memory_plan_count;

/* The network with this spec id, or NULL. */
const lh_ref_network *lh_network_find(const char *id);

/* The network with this spec id; aborts if there is none. */
const lh_ref_network *lh_network_get(const char *id);

/* Whether training has dropout. */
bool lh_network_has_dropout(const lh_ref_network *network);

#endif
