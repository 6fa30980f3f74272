/* See seeds.h. */
#include "data/seeds.h"

#include <inttypes.h>
#include <stdio.h>

const char *const lh_seed_part_name[LH_SEED_PARTS] = {"init", "data", "draws"};

const char *lh_write_separate_seeds(const lh_separate_seeds *separate_seeds, char text[LH_SEEDS_TEXT]) {
    int used = 0;
    text[0] = 0;
    for (int seed_part = 0; seed_part < LH_SEED_PARTS; seed_part++)
        if (separate_seeds->is_separate[seed_part])
            used += snprintf(text + used, (size_t)(LH_SEEDS_TEXT - used), ".%s%" PRIu64, lh_seed_part_name[seed_part],
                             separate_seeds->seed[seed_part]);
    return text;
}
