/* Gaussian noise, for two uses: it is added to embeddings in evaluation (eval.by.noise), or it is the state before the
 * first pass of a model with loops (model.loops).
 *
 * Element e = t * C + c (token t, channel c) of example b takes the number with index e % 4 in block e / 4 of the
 * stream at counter (block, site, b, step). The site of noise on embeddings consists of LH_DOMAIN_EVAL_NOISE, the draw
 * and the index of the embedding. Two words give two numbers (Box and Muller 1958). The upper 23 bits of a word select
 * one of 2^23 cells of (0, 1). The middle of the cell is an exact float, so no number exceeds 5.8 deviations. An
 * evaluation with several standard deviations uses the same random numbers for each of them.
 * Reference: lh_ref_normal.
 */
#ifndef LONGHAND_KERNELS_NOISE_H
#define LONGHAND_KERNELS_NOISE_H

#include "kernels/cpu/functions.h"
#include "longhand/cpu.h"
#include "longhand/rng.h"

INLINE real noise_uniform(uint32_t word) { return ((real)(word >> 9) + (real)0.5) * (real)0x1p-23; }

/* Writes deviation * a standard normal number to each element of row[width].
 *   adds        whether the numbers are added to the row instead; a constant in every call
 *   example, t  index of the example, and of the token in the example
 *   width       C, a multiple of 4 */
INLINE void draw_normal(const bool adds, const lh_draw *draw, uint32_t site, uint32_t example, int t, int width,
                        real deviation, real *row) {
    const real turn = (real)6.283185307179586477; /* 2 pi */
    for (int c = 0; c < width; c += 4) {
        const uint32_t counter[4] = {(uint32_t)((t * width + c) / 4), site, example, draw->step};
        uint32_t word[4];
        lh_philox(counter, draw->key, word);
        for (int i = 0; i < 4; i += 2) {
            real size = deviation * sqrt_real(-2 * log_real(noise_uniform(word[i])));
            real angle = turn * noise_uniform(word[i + 1]);
            row[c + i] = (adds ? row[c + i] : 0) + size * cos_real(angle);
            row[c + i + 1] = (adds ? row[c + i + 1] : 0) + size * sin_real(angle);
        }
    }
}

/* Adds noise to a row of an embedding.
 *   draw->example  index of the draw, as in all evaluations (lh_draw)
 *   example        index of the example
 *   place          index of the embedding */
INLINE void add_noise(const lh_draw *draw, uint32_t example, uint32_t place, int t, int width, real deviation,
                      real *row) {
    draw_normal(true, draw, lh_site(LH_DOMAIN_EVAL_NOISE, draw->example, place), example, t, width, deviation, row);
}

#endif
