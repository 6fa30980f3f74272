/* Odds First (Ruoss et al. 2023): the bits at odd places, then the bits at even places.
 *
 * input symbols:  0 1
 * output symbols: 0 1
 * input length:   n
 * output length:  n
 * option order:   odd even; indices, from 0, of the bits that come first
 * chance:         0.5
 * baseline:       0.5278 majority bit of the sequence, everywhere
 */
#include "data/tasks/bits.h"
#include "longhand/task.h"

lh_task_sample lh_task_odds_first;

enum { ORDER }; /* options */
/* The paper's code puts the odd indices first. A comment in the paper's code says even. */
enum { ODD, EVEN };

void lh_task_odds_first(lh_rng *rng, int n, lh_example *example) {
    fill_bits(rng, n, example->input);
    uint16_t *out = example->target;
    int first = example->options[ORDER] == ODD;
    for (int i = first; i < n; i += 2) *out++ = example->input[i];
    for (int i = 1 - first; i < n; i += 2) *out++ = example->input[i];
}
