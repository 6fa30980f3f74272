/* Choices: a task that leaves two things open.
 *
 * input symbols:  a b
 * output symbols: a b
 * input length:   n
 * output length:  1
 * chance:         0.5
 * option order:   up down; which way
 * option base:    2 10 16; of numerals
 */
#include "longhand/task.h"

lh_task_sample lh_task_choices;

void lh_task_choices(lh_rng *rng, int n, lh_example *example) {
    for (int i = 0; i < n; i++) example->input[i] = (uint16_t)lh_rng_below(rng, 2);
    example->target[0] = (uint16_t)(example->options[0] + example->options[1]) % 2;
}
