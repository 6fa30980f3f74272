/* Framed: n letters in a frame, and how many of them are the last one there is.
 *
 * symbols:        a b c d e $
 * symbol count:   letters + 2, at least 6
 * start symbol:   $
 * input length:   width + n
 * output length:  order + 1
 * chance:         1 / letters
 * option width:   2..40 = 6; tokens of the frame
 * option order:   up down; which is written first
 * option letters: 2..4 = 3; of the alphabet
 */
#include "longhand/task.h"

lh_task_sample lh_task_framed;

void lh_task_framed(lh_rng *rng, int n, lh_example *example) {
    for (int i = 0; i < example->options[0] + n; i++)
        example->input[i] = (uint16_t)lh_rng_below(rng, (uint32_t)example->options[2]);
    for (int i = 0; i < example->output_length; i++) example->target[i] = example->input[i];
}
