/* Random expressions of digits, operators and brackets with their value, for tasks modulo 5.
 *
 * Tokens: the digits 0 to 4, the operators from 5 on in the order + - *, the opening and the closing bracket. */
#ifndef LONGHAND_TASK_EXPRESSION_H
#define LONGHAND_TASK_EXPRESSION_H

#include "longhand/rng.h"

enum { MODULUS = 5, PLUS = 5, MINUS = 6 };

/* The value of the whole expression modulo 5 as a function of the unwritten part: slope * part + offset. */
typedef struct affine {
    unsigned slope, offset;
} affine;

/* Replaces the unwritten part by an operation with one known side; the other side is the new part. */
static inline affine fill_side(affine whole, unsigned op, unsigned known, int known_is_left) {
    if (op == PLUS) return (affine){whole.slope, (whole.offset + whole.slope * known) % MODULUS};
    if (op != MINUS) return (affine){whole.slope * known % MODULUS, whole.offset};
    unsigned minus = MODULUS - whole.slope;
    if (known_is_left) return (affine){minus, (whole.offset + whole.slope * known) % MODULUS};
    return (affine){whole.slope, (whole.offset + minus * known) % MODULUS};
}

/* Writes a digit in n <= 4 tokens, with a minus and brackets as n requires; returns its value. */
static inline unsigned write_digit(lh_rng *rng, int operators, int n, uint16_t *out) {
    uint32_t digit = lh_rng_below(rng, MODULUS);
    if (n > 2) {
        *out++ = (uint16_t)(PLUS + operators);
        out[n - 2] = (uint16_t)(PLUS + operators + 1);
        n -= 2;
    }
    if (n == 2) *out++ = MINUS;
    *out = (uint16_t)digit;
    return n == 2 ? (MODULUS - digit) % MODULUS : digit;
}

/* Writes an expression of n tokens with the first `operators` operators and returns its value modulo 5. From n = 5 on
 * it is (left op right) with 1 to n - 4 tokens on the left. The shorter side is a recursive call, the longer side the
 * next round of the loop, so recursion is at most log2 n deep. */
static inline unsigned write_expression(lh_rng *rng, int operators, int n, uint16_t *out) {
    affine whole = {1, 0};
    while (n > 4) {
        int left = 1 + (int)lh_rng_below(rng, (uint32_t)(n - 4)), right = n - 3 - left, left_first = left < right;
        unsigned op = PLUS + lh_rng_below(rng, (uint32_t)operators);
        uint16_t *left_start = out + 1, *right_start = left_start + left + 1;
        out[0] = (uint16_t)(PLUS + operators);
        right_start[-1] = (uint16_t)op;
        right_start[right] = (uint16_t)(PLUS + operators + 1);
        unsigned known =
            write_expression(rng, operators, left_first ? left : right, left_first ? left_start : right_start);
        whole = fill_side(whole, op, known, left_first);
        n = left_first ? right : left;
        out = left_first ? right_start : left_start;
    }
    return (whole.slope * write_digit(rng, operators, n, out) + whole.offset) % MODULUS;
}

#endif
