/* Seeds of a run's parts. A run has one seed; each part of its random numbers may have a seed of its own. */
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

/* Seeds of parts; a part that is not set apart has the run's seed. Zeroed: no part is set apart. */
typedef struct lh_seeds_apart {
    bool is_apart[LH_SEED_PARTS];
    uint64_t seed[LH_SEED_PARTS];
} lh_seeds_apart;

/* The seed of a part of a run with this seed. */
static inline uint64_t lh_get_part_seed(uint64_t seed, const lh_seeds_apart *apart, lh_seed_part part) {
    return apart->is_apart[part] ? apart->seed[part] : seed;
}

static inline lh_key lh_get_part_key(uint64_t seed, const lh_seeds_apart *apart, lh_seed_part part) {
    return lh_key_of_seed(lh_get_part_seed(seed, apart, part));
}

enum { LH_SEEDS_TEXT = 96 };

/* Writes the seeds that are set apart, as they follow the run's seed in names and messages: ".init1.data2", or "".
 * Returns text. */
const char *lh_write_seeds_apart(const lh_seeds_apart *apart, char text[LH_SEEDS_TEXT]);

#endif
