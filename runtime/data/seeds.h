/* Seeds of a run. Each part of a run's random numbers may have its own seed instead of the run's seed. */
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

/* All fields 0: all parts have the run's seed. */
typedef struct lh_separate_seeds {
    bool is_separate[LH_SEED_PARTS]; /* whether a part has its own seed */
    uint64_t seed[LH_SEED_PARTS];    /* for parts with is_separate */
} lh_separate_seeds;

static inline uint64_t lh_get_part_seed(uint64_t run_seed, const lh_separate_seeds *separate_seeds,
                                        lh_seed_part seed_part) {
    return separate_seeds->is_separate[seed_part] ? separate_seeds->seed[seed_part] : run_seed;
}

static inline lh_key lh_get_part_key(uint64_t run_seed, const lh_separate_seeds *separate_seeds,
                                     lh_seed_part seed_part) {
    return lh_key_of_seed(lh_get_part_seed(run_seed, separate_seeds, seed_part));
}

enum { LH_SEEDS_TEXT = 96 }; /* bytes of a text that lh_write_separate_seeds writes */

/* Writes the separate seeds, such as ".init1.data2"; "": there are none. Names of run folders have this text after the
 * run's seed. Returns `text`. */
const char *lh_write_separate_seeds(const lh_separate_seeds *separate_seeds, char text[LH_SEEDS_TEXT]);

#endif
