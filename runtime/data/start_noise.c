/* See start_noise.h. */
#include "data/start_noise.h"

#include <math.h>

static double make_uniform(uint32_t word) { return ((word >> 9) + 0.5) * 0x1p-23; }

void lh_draw_start_noise(const lh_spec *spec, const lh_draw *draw, uint32_t example, int t, int c,
                         double noise[LH_NOISE_BLOCK]) {
    const double turn = 6.283185307179586477; /* 2 pi */
    const uint32_t site = lh_site(LH_DOMAIN_EVAL_START, draw->example, 0);
    const uint32_t counter[4] = {(uint32_t)((t * spec->start_width + c) / LH_NOISE_BLOCK), site, example, draw->step};
    uint32_t word[4];
    lh_philox(counter, draw->key, word);
    for (int i = 0; i < LH_NOISE_BLOCK; i += 2) {
        double size = sqrt(-2 * log(make_uniform(word[i]))), angle = turn * make_uniform(word[i + 1]);
        noise[i] = size * cos(angle);
        noise[i + 1] = size * sin(angle);
    }
}
