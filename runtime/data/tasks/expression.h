/* Random expressions of digits, operators and brackets with their value, for tasks modulo 5.
 *
 * Tokens: the digits 0 to 4, operators from 5 on (+ - or + - *), the opening bracket, the closing bracket. */
#ifndef LONGHAND_TASK_EXPRESSION_H
#define LONGHAND_TASK_EXPRESSION_H

#include "longhand/rng.h"

enum { MODULUS = 5, PLUS = 5, MINUS = 6 };

/* The value of the expression modulo 5: slope * part + offset, where `part` is the value of the unwritten part. */
typedef struct affine {
    unsigned slope, offset;
} affine;

/* Replaces the unwritten part by an operation. One side has the value side_value; the other side is the new unwritten
 * part. */
static inline affine fill_side(affine expression, unsigned op, unsigned side_value, int is_left_side) {
    if (op == PLUS) return (affine){expression.slope, (expression.offset + expression.slope * side_value) % MODULUS};
    if (op != MINUS) return (affine){expression.slope * side_value % MODULUS, expression.offset};
    unsigned minus = MODULUS - expression.slope;
    if (is_left_side) return (affine){minus, (expression.offset + expression.slope * side_value) % MODULUS};
    return (affine){expression.slope, (expression.offset + minus * side_value) % MODULUS};
}

/* Writes a digit in n <= 4 tokens, with a minus and brackets as n requires; returns its value. */
static inline unsigned write_digit(lh_rng *rng, int operator_count, int n, uint16_t *out) {
    uint32_t digit = lh_rng_below(rng, MODULUS);
    if (n > 2) {
        *out++ = (uint16_t)(PLUS + operator_count);
        out[n - 2] = (uint16_t)(PLUS + operator_count + 1);
        n -= 2;
    }
    if (n == 2) *out++ = MINUS;
    *out = (uint16_t)digit;
    return n == 2 ? (MODULUS - digit) % MODULUS : digit;
}

/* Writes an expression of n tokens with the first operator_count of + - *. Returns its value modulo 5. From n = 5 on,
 * the expression is (left op right) with 1 to n - 4 tokens on the left. Only the shorter side is a recursive call, so
 * recursion is at most log2 n deep. */
static inline unsigned write_expression(lh_rng *rng, int operator_count, int n, uint16_t *out) {
    affine expression = {1, 0};
    while (n > 4) {
        int left = 1 + (int)lh_rng_below(rng, (uint32_t)(n - 4)), right = n - 3 - left, is_left_shorter = left < right;
        unsigned op = PLUS + lh_rng_below(rng, (uint32_t)operator_count);
        uint16_t *left_start = out + 1, *right_start = left_start + left + 1;
        out[0] = (uint16_t)(PLUS + operator_count);
        right_start[-1] = (uint16_t)op;
        right_start[right] = (uint16_t)(PLUS + operator_count + 1);
        unsigned side_value = write_expression(rng, operator_count, is_left_shorter ? left : right,
                                               is_left_shorter ? left_start : right_start);
        expression = fill_side(expression, op, side_value, is_left_shorter);
        n = is_left_shorter ? right : left;
        out = is_left_shorter ? right_start : left_start;
    }
    return (expression.slope * write_digit(rng, operator_count, n, out) + expression.offset) % MODULUS;
}

#endif
