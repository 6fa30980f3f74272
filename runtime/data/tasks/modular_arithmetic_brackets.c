/* Modular Arithmetic (Ruoss et al. 2023): the value modulo 5 of an expression with brackets.
 *
 * input symbols:  0 1 2 3 4 + - * ( ) x
 * output symbols: 0 1 2 3 4
 * input length:   n
 * output length:  1
 * chance:         0.2
 * baseline:       0.3101 always 0
 */
#include "data/tasks/expression.h"
#include "longhand/task.h"

lh_task_sample lh_task_modular_arithmetic_brackets;

/* The symbol x never occurs. */
void lh_task_modular_arithmetic_brackets(lh_rng *rng, int n, lh_example *example) {
    example->target[0] = (uint16_t)write_expression(rng, 3, n, example->input);
}
