/* Parity Check (Ruoss et al. 2023): the sum of n bits modulo 2.
 *
 * input symbols:  0 1
 * output symbols: 0 1
 * input length:   n
 * output length:  1
 * chance:         0.5
 */
#include "data/tasks/bits.h"
#include "longhand/task.h"

lh_task_sample lh_task_parity_check;

void lh_task_parity_check(lh_rng *rng, int n, lh_example *example) {
    fill_bits(rng, n, example->input);
    unsigned parity = 0;
    for (int i = 0; i < n; i++) parity ^= example->input[i];
    example->target[0] = (uint16_t)parity;
}
