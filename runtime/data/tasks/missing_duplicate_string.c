/* Missing Duplicate (Ruoss et al. 2023): the bit that is missing in a string of bits and its copy.
 *
 * input symbols:  0 1 _ .
 * output symbols: 0 1
 * input length:   n
 * output length:  1
 * chance:         0.5
 * baseline:       0.520 majority of the visible bits
 */
#include "data/tasks/bits.h"
#include "longhand/task.h"

lh_task_sample lh_task_missing_duplicate_string;

enum { HOLE = 2, FILLER = 3 };

/* An input of odd length ends with a filler token; n = 1 is always the input 1 with the target 1. */
void lh_task_missing_duplicate_string(lh_rng *rng, int n, lh_example *example) {
    uint16_t *input = example->input;
    int m = n / 2;
    if (m == 0) {
        input[0] = example->target[0] = 1;
        return;
    }
    fill_bits(rng, m, input);
    for (int i = 0; i < m; i++) input[m + i] = input[i];
    int hole = (int)lh_rng_below(rng, (uint32_t)(2 * m));
    example->target[0] = input[hole];
    input[hole] = HOLE;
    if (n % 2 != 0) input[n - 1] = FILLER;
}
