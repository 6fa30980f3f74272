/* Draws bits for tasks over {0, 1}. */
#ifndef LONGHAND_TASK_BITS_H
#define LONGHAND_TASK_BITS_H

#include "longhand/rng.h"

/* Draws n tokens 0 or 1: 32 from each random word, lowest bit first; unused bits of the last word are dropped. */
static inline void fill_bits(lh_rng *rng, int n, uint16_t *tokens) {
    uint32_t word = 0;
    for (int i = 0; i < n; i++) {
        if (i % 32 == 0) word = lh_rng_word(rng);
        tokens[i] = (uint16_t)(word & 1u);
        word >>= 1;
    }
}

/* Draws n bits, not all of them zero: a number from 1 to 2^n - 1, uniformly. */
static inline void fill_positive(lh_rng *rng, int n, uint16_t *tokens) {
    unsigned combined_bits;
    do {
        fill_bits(rng, n, tokens);
        combined_bits = 0;
        for (int i = 0; i < n; i++) combined_bits |= tokens[i];
    } while (combined_bits == 0);
}

#endif
