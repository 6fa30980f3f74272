/* Duplicate String (Ruoss et al. 2023): a string of n bits, repeated once.
 *
 * input symbols:  0 1
 * output symbols: 0 1
 * input length:   n
 * output length:  2 * n
 * chance:         0.5
 * baseline:       0.5278 majority bit of the sequence, everywhere
 * positions:      2, 3, ... for bits of the input; a bit's position for its two copies; 1 before the first output
 */
#include "data/tasks/bits.h"
#include "longhand/task.h"

lh_task_sample lh_task_duplicate_string;
lh_task_place lh_place_duplicate_string;

void lh_task_duplicate_string(lh_rng *rng, int n, lh_example *example) {
    fill_bits(rng, n, example->input);
    for (int i = 0; i < 2 * n; i++) example->target[i] = example->input[i % n];
}

/* Positions of the copying task of Cho et al. 2024, "Position Coupling for Improving Length Generalization of
 * Arithmetic Transformers", whose target is one copy. */
void lh_place_duplicate_string(const lh_example *example, int32_t *input, int32_t *target) {
    const int n = example->input_length;
    for (int i = 0; i < n; i++) input[i] = 2 + i;
    target[0] = 1;
    for (int i = 0; i + 1 < example->output_length; i++) target[i + 1] = 2 + i % n;
}
