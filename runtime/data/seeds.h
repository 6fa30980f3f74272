/* Seeds of a run. A run has one seed; each part of its random numbers may have a seed of its own. */
#ifndef LONGHAND_SEEDS_H
#define LONGHAND_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "longhand/rng.h"

typedef enum lh_seed_part {
    LH_SEED_INIT,  /* initial values */
    LH_SEED_DATA,  /* training examples: their lengths, their content, their order in an epoch */
    LH_SEED_DRAWS, /* random positions and dropout of training */
    LH_SEED_PARTS
} lh_seed_part;

extern const char *const lh_seed_part_name[LH_SEED_PARTS]; /* "init", "data", "draws" */

/* Seeds of the parts of a run's random numbers. is_apart: the part has a seed of its own, else it has the run's seed.
 * Zeroed: all parts have the run's seed. */
typedef struct lh_seeds_apart {
    bool is_apart[LH_SEED_PARTS];
    uint64_t seed[LH_SEED_PARTS];
} lh_seeds_apart;

/* The seed of a part of the random numbers, in a run with this seed. */
static inline uint64_t lh_get_part_seed(uint64_t seed, const lh_seeds_apart *part_seeds, lh_seed_part seed_part) {
    return part_seeds->is_apart[seed_part] ? part_seeds->seed[seed_part] : seed;
}

static inline lh_key lh_get_part_key(uint64_t seed, const lh_seeds_apart *part_seeds, lh_seed_part seed_part) {
    return lh_key_of_seed(lh_get_part_seed(seed, part_seeds, seed_part));
}

enum { LH_SEEDS_TEXT = 96 };

/* Writes the seeds of parts with a seed of their own, as they follow the run's seed in names and messages:
 * ".init1.data2", or "".
 * Returns text. */
const char *lh_write_seeds_apart(const lh_seeds_apart *part_seeds, char text[LH_SEEDS_TEXT]);

#endif
