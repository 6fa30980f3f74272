/* Counting (after Golovneva et al. 2024): the number of increments since the last reset, after each statement.
 *
 * input symbols:  0 + .
 * output symbols: 0 1 2 3 4 5 6 7 8 9
 * input length:   n
 * output length:  n
 * chance:         0.1
 * baseline:       0.2937 always 0
 */
#include "longhand/task.h"

lh_task_sample lh_task_counting;

enum { RESET, INCREMENT, PASS }; /* inputs */
enum { MAX_RESETS = 4, MAX_COUNT = 9 };

/* The first statement is a reset, and up to three further resets are at random places. The number of increments after a
 * reset is uniform, from 0 to MAX_COUNT or, if that is less, to the number of statements before the next reset. The
 * increments are at random places. So long inputs have the same counts as short inputs, with more statements between
 * the increments. */
void lh_task_counting(lh_rng *rng, int n, lh_example *example) {
    for (int i = 0; i < n; i++) example->input[i] = PASS;
    example->input[0] = RESET;
    for (int resets = (int)lh_rng_below(rng, MAX_RESETS); resets > 0; resets--)
        example->input[lh_rng_below(rng, (uint32_t)n)] = RESET;
    for (int first = 0, next; first < n; first = next) {
        for (next = first + 1; next < n && example->input[next] != RESET;) next++;
        const int places = next - first - 1, max_increments = places < MAX_COUNT ? places : MAX_COUNT;
        int increments = (int)lh_rng_below(rng, (uint32_t)max_increments + 1), count = 0;
        example->target[first] = 0;
        for (int i = first + 1; i < next; i++) {
            if ((int)lh_rng_below(rng, (uint32_t)(next - i)) < increments - count) {
                example->input[i] = INCREMENT;
                count++;
            }
            example->target[i] = (uint16_t)count;
        }
    }
}
