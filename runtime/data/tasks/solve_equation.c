/* Solve Equation (Ruoss et al. 2023): the digit that x replaces in an expression of + and -, whose value modulo 5 is
 * given.
 *
 * input symbols:  0 1 2 3 4 + - ( ) x =
 * output symbols: 0 1 2 3 4
 * input length:   n
 * output length:  1
 * chance:         0.2
 */
#include "data/tasks/expression.h"
#include "longhand/task.h"

lh_task_sample lh_task_solve_equation;

enum { UNKNOWN = 9, EQUALS = 10 };

/* The search for the digit to replace starts at a uniform position and goes to the right, cyclically, so a digit that
 * follows many tokens which are not digits is replaced more often. An input of one or two tokens is not an equation:
 * its tokens and the answer are 0. */
void lh_task_solve_equation(lh_rng *rng, int n, lh_example *example) {
    uint16_t *input = example->input;
    if (n < 3) {
        for (int i = 0; i < n; i++) input[i] = 0;
        example->target[0] = 0;
        return;
    }
    int length = n - 2;
    input[n - 1] = (uint16_t)write_expression(rng, 2, length, input);
    input[n - 2] = EQUALS;
    int index = (int)lh_rng_below(rng, (uint32_t)length);
    while (input[index] >= MODULUS) index = (index + 1) % length;
    example->target[0] = input[index];
    input[index] = UNKNOWN;
}
