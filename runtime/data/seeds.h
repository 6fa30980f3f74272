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

/* Seeds of the parts of a run's random numbers. All fields 0: all parts have the run's seed. */
typedef struct lh_separate_seeds {
    bool is_separate[LH_SEED_PARTS]; /* the part has a seed of its own; false: it has the run's seed */
    uint64_t seed[LH_SEED_PARTS];    /* seeds of the parts that have their own */
} lh_separate_seeds;

/* The seed of a part of the random numbers, in a run with this seed. */
static inline uint64_t lh_get_part_seed(uint64_t seed, const lh_separate_seeds *separate_seeds,
                                        lh_seed_part seed_part) {
    return separate_seeds->is_separate[seed_part] ? separate_seeds->seed[seed_part] : seed;
}

static inline lh_key lh_get_part_key(uint64_t seed, const lh_separate_seeds *separate_seeds, lh_seed_part seed_part) {
    return lh_key_of_seed(lh_get_part_seed(seed, separate_seeds, seed_part));
}

enum { LH_SEEDS_TEXT = 96 }; /* bytes of a text of lh_write_separate_seeds */

/* Writes the seeds of parts that have their own, as names and messages append them to the run's seed: ".init1.data2";
 * "" if there are none. Returns text. */
const char *lh_write_separate_seeds(const lh_separate_seeds *separate_seeds, char text[LH_SEEDS_TEXT]);

#endif
