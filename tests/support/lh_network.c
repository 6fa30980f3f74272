#include "lh_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const lh_ref_network *lh_network_find(const char *id) {
    for (int i = 0; i < lh_network_count; i++)
        if (strcmp(lh_networks[i].id, id) == 0) return &lh_networks[i];
    return NULL;
}

const lh_ref_network *lh_network_get(const char *id) {
    const lh_ref_network *network = lh_network_find(id);
    if (network) return network;
    fprintf(stderr, "tests/support: there is no table of the network %s\n", id);
    abort();
}

bool lh_network_has_dropout(const lh_ref_network *network) {
    for (int s = 0; s < network->scope_count; s++)
        for (int i = 0; i < network->scopes[s].operation_count; i++)
            if (network->scopes[s].operations[i].rate > 0) return true;
    return false;
}
