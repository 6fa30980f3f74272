/* The networks of the specs of tests/specs, as descriptions for kernels/ref/network.h. Written for tests alone:
 * render_networks.lua.
 */
#ifndef LH_NETWORK_H
#define LH_NETWORK_H

#include "kernels/ref/network.h"

extern const lh_ref_network *const lh_networks;
extern const int lh_network_count;

/* That of a spec's id, or NULL. */
const lh_ref_network *lh_network_find(const char *id);

/* The same; aborts where there is none. */
const lh_ref_network *lh_network_of(const char *id);

/* Whether training drops anything out. */
bool lh_network_drops(const lh_ref_network *network);

#endif
