/* Even Pairs (Ruoss et al. 2023): 1 if n bits have an odd number of unequal adjacent pairs, else 0.
 *
 * input symbols:  0 1
 * output symbols: 0 1
 * input length:   n
 * output length:  1
 * chance:         0.5
 */
#include "data/tasks/bits.h"
#include "longhand/task.h"

lh_task_sample lh_task_even_pairs;

/* Every unequal pair is a change of value, so their number is odd if and only if the two ends differ. */
void lh_task_even_pairs(lh_rng *rng, int n, lh_example *example) {
    fill_bits(rng, n, example->input);
    example->target[0] = example->input[0] ^ example->input[n - 1];
}
