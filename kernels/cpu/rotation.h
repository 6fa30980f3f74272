/* Rotary position embedding: pairs of channels (2m, 2m + 1) are rotated by position * theta_m.
 *
 *   y[2m] = x[2m] cos - x[2m+1] sin;  y[2m+1] = x[2m+1] cos + x[2m] sin
 *
 * A table row of one position holds `period` cosines and `period` signed sines (minus at even channels); period is a
 * multiple of the head width and of LANES at every level, so the angles of a row of heads repeat after `period`
 * channels. Source: Su et al. 2021, section 3.4.2; pairing and base of Ruoss et al. 2023. Reference: lh_ref_rotate.
 */
#ifndef LONGHAND_KERNELS_ROTATION_H
#define LONGHAND_KERNELS_ROTATION_H

#include "kernels/cpu/vector.h"

/* Rotates x[width] in place by a table row; direction: 1, or -1 to rotate back. */
INLINE void rotate_row(const int width, const int period, const real *restrict row, const int direction,
                       real *restrict x) {
    for (int c = 0; c < width; c += period) {
        UNROLL
        for (int i = 0; i < period; i += LANES) {
            vector value = load(x + c + i), crossed = exchange_lanes(value, 1) * load(row + period + i);
            store(x + c + i, value * load(row + i) + (direction > 0 ? crossed : -crossed));
        }
    }
}

#endif
