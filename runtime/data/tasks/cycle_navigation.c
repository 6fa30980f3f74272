/* Cycle Navigation (Ruoss et al. 2023): the last place of a walk on a cycle of five places, in n steps of -1, 0 or +1.
 *
 * input symbols:  - = +
 * output symbols: 0 1 2 3 4
 * input length:   n
 * output length:  1
 * chance:         0.2
 * baseline:       0.2000 any constant
 */
#include "longhand/task.h"

lh_task_sample lh_task_cycle_navigation;

enum { PLACES = 5, STAY = 1 };

/* Steps are independent and uniform; the walk begins at 0. */
void lh_task_cycle_navigation(lh_rng *rng, int n, lh_example *example) {
    unsigned place = 0;
    for (int i = 0; i < n; i++) {
        uint32_t step = lh_rng_below(rng, 3);
        example->input[i] = (uint16_t)step;
        place = (place + PLACES + step - STAY) % PLACES;
    }
    example->target[0] = (uint16_t)place;
}
