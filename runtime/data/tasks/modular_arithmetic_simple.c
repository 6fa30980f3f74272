/* Modular Arithmetic (Simple) (Ruoss et al. 2023): the value modulo 5 of an expression of digits and + - * in which
 * products are computed first.
 *
 * input symbols:  0 1 2 3 4 + - * _
 * output symbols: 0 1 2 3 4
 * input length:   (n - 1) / 2 * 2 + 1
 * output length:  1
 * chance:         0.2
 * baseline:       0.2000 any constant
 */
#include "longhand/task.h"

lh_task_sample lh_task_modular_arithmetic_simple;

enum { MODULUS = 5, PLUS = 5, MINUS = 6, OPERATORS = 3 };

/* Digits and operators are independent and uniform. For an even n the input has n - 1 tokens. The blank, _, never
 * occurs. */
void lh_task_modular_arithmetic_simple(lh_rng *rng, int n, lh_example *example) {
    (void)n;
    uint16_t *input = example->input;
    unsigned sum = 0, term = input[0] = (uint16_t)lh_rng_below(rng, MODULUS);
    for (int i = 1; i < example->input_length; i += 2) {
        uint32_t op = PLUS + lh_rng_below(rng, OPERATORS), digit = lh_rng_below(rng, MODULUS);
        input[i] = (uint16_t)op;
        input[i + 1] = (uint16_t)digit;
        if (op == PLUS || op == MINUS) {
            sum += term;
            term = op == PLUS ? digit : MODULUS - digit;
        } else {
            term = term * digit % MODULUS;
        }
    }
    example->target[0] = (uint16_t)((sum + term) % MODULUS);
}
