/* Philox4x32-10, and the meaning of its counter in Longhand. Valid C11 and CUDA C++.
 *
 * Every random number is a pure function of (key, counter); nothing is carried from draw to draw, so the bits do not
 * depend on threads, replicas, or on where a run was interrupted.
 *
 *   key      in training, the run's seed, or the seed of one of its parts (data/seeds.h); in evaluation, the evaluation
 *            seed; for examples of a set that the task makes, task.seed. The low word comes first
 *   counter  word 0: block within the site, word 1: site, word 2: example, word 3: step
 *   site     domain << 24 | layer << 8 | place
 *   example  index in the batch; LH_SHARED for numbers that the whole batch shares
 *   step     training step from 0; in evaluation the condition, e.g. the length
 *
 * Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; checked against Random123's known
 * answers.
 */
#ifndef LONGHAND_RNG_H
#define LONGHAND_RNG_H

#include <stdint.h>

enum {                             /* domains */
       LH_DOMAIN_INIT = 1,         /* layer: 0; place: 0; example: index of the tensor in lh_spec.tensors */
       LH_DOMAIN_DATA = 2,         /* place: below */
       LH_DOMAIN_DROPOUT = 3,      /* layer 0: the embedding; layer l + 1: block l; place: order within the block */
       LH_DOMAIN_POSITIONS = 4,    /* layer: 0 for the one draw of a pass, l + 1 for the draw of block l; place:
                                    * below */
       LH_DOMAIN_EVAL = 5,         /* all random numbers of an evaluation but noise and dropout; place: below */
       LH_DOMAIN_EVAL_NOISE = 7,   /* layer: index of the draw; place: index of the embedding in the network */
       LH_DOMAIN_EVAL_DROPOUT = 6, /* layer: index of the draw; place: l * (most places of a layer) + p,
                                    * with layer l and place p as in LH_DOMAIN_DROPOUT */
       LH_DOMAIN_VALIDATION = 8,   /* examples and position draws of the validation stream; as LH_DOMAIN_EVAL */
       LH_DOMAIN_PASSES = 9,       /* the passes of a training step; layer, place: 0; example = LH_SHARED */
       LH_DOMAIN_START = 10,       /* training: noise from which passes start; layer, place: 0 */
       LH_DOMAIN_EVAL_START = 11   /* evaluation: noise from which passes start; layer: index of the draw; place: 0 */
};
/* Counter word 3 of draws of the validation stream is LH_VALIDATION_STEP + length. Noise and dropout of validation
 * share the domains of the evaluation, whose lengths are all below this number. */
#define LH_VALIDATION_STEP 0x80000000u
enum {                      /* places within data and evaluation */
       LH_PLACE_SAMPLE = 0, /* the example itself */
       LH_PLACE_LENGTH = 1, /* length of a training batch, example = LH_SHARED; if lengths are mixed, of one example */
       LH_PLACE_POSITIONS = 2, /* evaluation: a position draw; example = index of the draw */
       LH_PLACE_DISTANCES = 3, /* evaluation: a draw of distances; example = index of the draw */
       LH_PLACE_ORDER = 4,     /* the order of a fixed set of examples: in an epoch (step: its number), in a trace */
       LH_PLACE_LEFT = 5,      /* evaluation: a draw of distances to the left; example = index of the draw */
       LH_PLACE_SEQUENCE = 6,  /* evaluation: positions of one sequence; place: 6 + stream; layer: index of the draw */
       LH_PLACE_CHOICE = 16    /* choice of examples from a fixed set, in evaluation; example: number of the line;
                                * step: LH_SHARED */
};
enum {                               /* places within LH_DOMAIN_POSITIONS */
       LH_PLACE_DRAWN_POSITIONS = 0, /* example = LH_SHARED; by sequence: example = sequence, layer = stream */
       LH_PLACE_DRAWN_DISTANCES = 1,
       LH_PLACE_DRAWN_LEFT = 2 /* distances to the left, where drawn separately */
};
/* Most draws of one condition of an evaluation: the 16 bits of a site's field `layer` hold the draw's index. */
enum { LH_MOST_DRAWS = 65536 };
#define LH_SHARED 0xffffffffu

typedef struct lh_key {
    uint32_t word[2];
} lh_key;

static inline lh_key lh_key_of_seed(uint64_t seed) {
    lh_key key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    return key;
}

static inline uint32_t lh_site(uint32_t domain, uint32_t layer, uint32_t place) {
    return domain << 24 | layer << 8 | place;
}

/* One block: out[4] = Philox4x32-10(counter[4], key). */
static inline void lh_philox(const uint32_t counter[4], lh_key key, uint32_t out[4]) {
    uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    uint32_t k0 = key.word[0], k1 = key.word[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xd2511f53u * x0, p1 = (uint64_t)0xcd9e8d57u * x2;
        x0 = (uint32_t)(p1 >> 32) ^ x1 ^ k0;
        x1 = (uint32_t)p1;
        x2 = (uint32_t)(p0 >> 32) ^ x3 ^ k1;
        x3 = (uint32_t)p0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[0] = x0;
    out[1] = x1;
    out[2] = x2;
    out[3] = x3;
}

/* A stream of random words at one (key, site, example, step): blocks 0, 1, 2, ... in order. May be copied by value. */
typedef struct lh_rng {
    lh_key key;
    uint32_t counter[4];
    uint32_t word[4];
    int used; /* words of the current block that were returned; 4: none are left */
} lh_rng;

static inline lh_rng lh_rng_at(lh_key key, uint32_t step, uint32_t example, uint32_t site) {
    lh_rng rng = {key, {0, site, example, step}, {0, 0, 0, 0}, 4};
    return rng;
}

/* 32 uniform bits. */
static inline uint32_t lh_rng_word(lh_rng *rng) {
    if (rng->used == 4) {
        lh_philox(rng->counter, rng->key, rng->word);
        rng->counter[0]++;
        rng->used = 0;
    }
    return rng->word[rng->used++];
}

/* Uniform on {0, ..., n - 1}, 1 <= n < 2^32, by multiply and shift: probabilities have a relative error <= n / 2^32. */
static inline uint32_t lh_rng_below(lh_rng *rng, uint32_t n) {
    return (uint32_t)((uint64_t)lh_rng_word(rng) * n >> 32);
}

#endif
