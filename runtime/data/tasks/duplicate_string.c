/* Duplicate String (Ruoss et al. 2023): a string of n bits, repeated once.
 *
 * input symbols:  0 1
 * output symbols: 0 1
 * input length:   n
 * output length:  2 * n
 * chance:         0.5
 * baseline:       0.5278 majority bit of the sequence, everywhere
 */
#include "data/tasks/bits.h"
#include "longhand/task.h"

lh_task_sample lh_task_duplicate_string;

void lh_task_duplicate_string(lh_rng *rng, int n, lh_example *example) {
    fill_bits(rng, n, example->input);
    for (int i = 0; i < 2 * n; i++) example->target[i] = example->input[i % n];
}
