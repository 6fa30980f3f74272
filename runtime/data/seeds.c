/* See seeds.h. */
#include "data/seeds.h"

#include <inttypes.h>
#include <stdio.h>

const char *const lh_seed_part_name[LH_SEED_PARTS] = {"init", "data", "draws"};

const char *lh_write_seeds_apart(const lh_seeds_apart *apart, char text[LH_SEEDS_TEXT]) {
    int used = 0;
    text[0] = 0;
    for (int part = 0; part < LH_SEED_PARTS; part++)
        if (apart->is_apart[part])
            used += snprintf(text + used, (size_t)(LH_SEEDS_TEXT - used), ".%s%" PRIu64, lh_seed_part_name[part],
                             apart->seed[part]);
    return text;
}
