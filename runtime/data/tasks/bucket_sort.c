/* Bucket Sort (Ruoss et al. 2023): n tokens in ascending order.
 *
 * input symbols:  0 1 2 3 4
 * output symbols: 0 1 2 3 4
 * input length:   n
 * output length:  n
 * chance:         0.2
 * baseline:       0.2369 most frequent token of the sequence, everywhere
 */
#include "longhand/task.h"

lh_task_sample lh_task_bucket_sort;

enum { SYMBOLS = 5 };

/* Tokens are independent and uniform. */
void lh_task_bucket_sort(lh_rng *rng, int n, lh_example *example) {
    int count[SYMBOLS] = {0, 0, 0, 0, 0};
    for (int i = 0; i < n; i++) {
        uint32_t token = lh_rng_below(rng, SYMBOLS);
        example->input[i] = (uint16_t)token;
        count[token]++;
    }
    uint16_t *out = example->target;
    for (int token = 0; token < SYMBOLS; token++) {
        for (int i = 0; i < count[token]; i++) *out++ = (uint16_t)token;
    }
}
