/* Reverse String (Ruoss et al. 2023): n bits in reverse order.
 *
 * input symbols:  0 1
 * output symbols: 0 1
 * input length:   n
 * output length:  n
 * chance:         0.5
 * baseline:       0.5278 majority bit of the sequence, everywhere
 * positions:      1 to n for bits of the input; a bit's position for its copy; n + 1 before the first output
 */
#include "data/tasks/bits.h"
#include "longhand/task.h"

lh_task_sample lh_task_reverse_string;
lh_task_place lh_place_reverse_string;

void lh_task_reverse_string(lh_rng *rng, int n, lh_example *example) {
    fill_bits(rng, n, example->input);
    for (int i = 0; i < n; i++) example->target[i] = example->input[n - 1 - i];
}

void lh_place_reverse_string(const lh_example *example, int32_t *input, int32_t *target) {
    const int n = example->input_length;
    for (int i = 0; i < n; i++) input[i] = 1 + i;
    for (int i = 0; i < n; i++) target[i] = 1 + n - i;
}
