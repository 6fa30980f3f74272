/* Two numbers with an operator between them, lowest bit first: what is added and multiplied. */
#ifndef LONGHAND_TASK_OPERANDS_H
#define LONGHAND_TASK_OPERANDS_H

#include "data/tasks/bits.h"

enum { OPERATOR = 2 };

typedef struct operands {
    const uint16_t *x, *y;
    int x_bits, y_bits;
} operands;

/* Draws where the operator stands, then numbers of all their bits, neither of them 0; n >= 3. */
static inline operands fill_operands(lh_rng *rng, int n, uint16_t *input) {
    int at = 1 + (int)lh_rng_below(rng, (uint32_t)(n - 2));
    fill_positive(rng, at, input);
    input[at] = OPERATOR;
    fill_positive(rng, n - 1 - at, input + at + 1);
    return (operands){input, input + at + 1, at, n - 1 - at};
}

/* An input of one or two tokens has one number from 0 to 2^n - 2, which is returned. */
static inline int fill_short(lh_rng *rng, int n, uint16_t *input) {
    int number = n == 1 ? 0 : (int)lh_rng_below(rng, 3);
    for (int i = 0; i < n; i++) input[i] = (uint16_t)(number >> i & 1);
    return number;
}

/* Bits of a number up to its highest 1, which there is. */
static inline int significant(const uint16_t *bits, int count) {
    while (bits[count - 1] == 0) count--;
    return count;
}

#endif
