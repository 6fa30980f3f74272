/* Inputs of binary addition and multiplication: two numbers, lowest bit first, with an operator between them. */
#ifndef LONGHAND_TASK_OPERANDS_H
#define LONGHAND_TASK_OPERANDS_H

#include "data/tasks/bits.h"

enum { OPERATOR = 2 };

typedef struct operands {
    const uint16_t *x, *y;
    int x_bits, y_bits;
} operands;

/* Draws the position of the operator, then two non-zero numbers that fill the rest; n >= 3. */
static inline operands fill_operands(lh_rng *rng, int n, uint16_t *input) {
    int index = 1 + (int)lh_rng_below(rng, (uint32_t)(n - 2));
    fill_positive(rng, index, input);
    input[index] = OPERATOR;
    fill_positive(rng, n - 1 - index, input + index + 1);
    return (operands){input, input + index + 1, index, n - 1 - index};
}

/* Fills a short input, of n = 1 or 2 tokens, with one number from 0 to 2^n - 2, and returns the number. */
static inline int fill_short(lh_rng *rng, int n, uint16_t *input) {
    int number = n == 1 ? 0 : (int)lh_rng_below(rng, 3);
    for (int i = 0; i < n; i++) input[i] = (uint16_t)(number >> i & 1);
    return number;
}

/* The number of significant bits, up to the highest 1; at least one bit must be 1. */
static inline int count_significant(const uint16_t *bits, int count) {
    while (bits[count - 1] == 0) count--;
    return count;
}

#endif
