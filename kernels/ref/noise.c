/* Reference noise on embeddings; see ref.h. */
#include <math.h>

#include "kernels/ref/ref.h"

double lh_ref_normal(lh_key key, uint32_t step, uint32_t site, uint32_t example, uint32_t element) {
    uint32_t counter[4] = {element / 4, site, example, step}, word[4], pair = element % 4 / 2 * 2;
    lh_philox(counter, key, word);
    double u = ((word[pair] >> 9) + 0.5) / 8388608, v = ((word[pair + 1] >> 9) + 0.5) / 8388608;
    double angle = 2 * acos(-1) * v;
    return sqrt(-2 * log(u)) * (element % 2 ? sin(angle) : cos(angle));
}
