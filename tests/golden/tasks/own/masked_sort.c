/* Masked Sort: sort n tokens ascending, of which every second one counts.
 *
 * input symbols:  0 1 2 3 4
 * output symbols: 0 1 2 3 4
 * input length:   n
 * output length:  n
 * chance:         0.2
 * mask:           accuracy in encoders, else loss
 */
#include "longhand/task.h"

lh_task_sample lh_task_masked_sort;

void lh_task_masked_sort(lh_rng *rng, int n, lh_example *example) {
    int counts[5] = {0}, used = 0;
    for (int i = 0; i < n; i++) counts[example->input[i] = (uint16_t)lh_rng_below(rng, 5)]++;
    for (int symbol = 0; symbol < 5; symbol++)
        while (counts[symbol]-- > 0) example->target[used++] = (uint16_t)symbol;
    for (int i = 1; i < n; i += 2) example->mask[i] = 0;
}
