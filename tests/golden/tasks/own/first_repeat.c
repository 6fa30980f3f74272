/* First Repeat: the header of examples/own_task/first_repeat.c.
 *
 * input symbols:  a b c d e f g h
 * output symbols: a b c d e f g h none
 * input length:   n
 * output length:  1
 * chance:         0.111
 */
#include "longhand/task.h"

lh_task_sample lh_task_first_repeat;

void lh_task_first_repeat(lh_rng *rng, int n, lh_example *example) {
    for (int i = 0; i < n; i++) example->input[i] = (uint16_t)lh_rng_below(rng, 8);
    example->target[0] = 8;
}
