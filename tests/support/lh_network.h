/* The networks of the specs of tests/specs, as descriptions for kernels/ref/network.h, and what their plans say of
 * memory. Written for tests alone: render_networks.lua.
 */
#ifndef LH_NETWORK_H
#define LH_NETWORK_H

#include "kernels/ref/network.h"
#include "longhand/cpu.h"

extern const lh_ref_network *const lh_networks;
extern const int lh_network_count;

/* Planned memory of a training at a level, in bytes, for a block of sequences of so many tokens. */
typedef struct lh_planned {
    const char *id, *level;
    int length[LH_MAX_STREAMS], sequences;
    size_t workspace, shared, tables;
} lh_planned;

extern const lh_planned *const lh_planned_memory;
extern const int lh_planned_count;

/* Network of a spec's id, or NULL. */
const lh_ref_network *lh_network_find(const char *id);

/* Network of a spec's id; aborts if there is none. */
const lh_ref_network *lh_network_of(const char *id);

/* Whether training drops anything out. */
bool lh_network_drops(const lh_ref_network *network);

#endif
