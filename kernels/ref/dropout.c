/* Reference dropout; see ref.h. */
#include <math.h>

#include "kernels/ref/ref.h"

int lh_ref_dropout_keeps(const lh_ref_dropout *site, uint32_t example, uint32_t element) {
    uint32_t counter[4] = {element / 8, site->site, example, site->step}, word[4];
    lh_philox(counter, site->key, word);
    uint32_t piece = element % 8, bits = word[piece / 2] >> (16 * (piece % 2)) & 0xffff;
    return bits >= (uint32_t)lround(65536 * site->rate);
}

void lh_ref_drop(const lh_ref_dropout *site, uint32_t example, int count, const double *x, double *y) {
    for (int e = 0; e < count; e++)
        y[e] = lh_ref_dropout_keeps(site, example, (uint32_t)e) ? x[e] / (1 - site->rate) : 0;
}
