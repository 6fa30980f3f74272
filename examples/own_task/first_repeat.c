/* First Repeat: the letter whose second occurrence in a string of n letters comes first; none if all letters differ.
 *
 * input symbols:  a b c d e f g h
 * output symbols: a b c d e f g h none
 * input length:   n
 * output length:  1
 * chance:         0.111
 */
#include "longhand/task.h"

lh_task_sample lh_task_first_repeat;

enum { LETTERS = 8, NONE = LETTERS };

/* Letters are independent and uniform. */
void lh_task_first_repeat(lh_rng *rng, int n, lh_example *example) {
    int has_occurred[LETTERS] = {0};
    int answer = NONE;
    for (int i = 0; i < n; i++) {
        int letter = (int)lh_rng_below(rng, LETTERS);
        example->input[i] = (uint16_t)letter;
        if (has_occurred[letter] && answer == NONE) answer = letter;
        has_occurred[letter] = 1;
    }
    example->target[0] = (uint16_t)answer;
}
