/* Functions that generated score code uses in addition to functions.h: vectors of indices, buckets, and sums along
 * diagonals.
 */
#ifndef LONGHAND_KERNELS_SCORE_H
#define LONGHAND_KERNELS_SCORE_H

#include <stdbool.h>

#include "kernels/cpu/functions.h"

/* first, first + 1, ... by lane, limited to `most`, so that lanes beyond the last token repeat it. */
INLINE vector ascending(int first, int most) { return minimum(counting((real)first, 1), broadcast((real)most)); }

/* first, first - 1, ... by lane, limited to `least`. */
INLINE vector descending(int first, int least) { return maximum(counting((real)first, -1), broadcast((real)least)); }

INLINE bits mask_of(bool truth) { return (bits){0} - (real_bits)truth; }

/* The number of edges that are at most x; edges ascend. */
INLINE vector bucket_of(vector x, int count, const real *edge) {
    vector sum = {0};
    for (int e = 0; e < count; e++) sum += keep_where(at_most(broadcast(edge[e]), x), broadcast(1));
    return sum;
}
INLINE real bucket_real(real x, int count, const real *edge) { return bucket_of(broadcast(x), count, edge)[0]; }

/* Moves every lane up (down) by one; the free lane becomes zero. */
INLINE vector shift_up(vector x) {
    bits source_lane = {0}; /* gcc 14 does not see that the loop sets every lane */
    UNROLL
    for (int i = 0; i < LANES; i++) source_lane[i] = i > 0 ? i - 1 : LANES;
    return shuffle(x, (vector){0}, source_lane);
}
INLINE vector shift_down(vector x) {
    bits source_lane;
    UNROLL
    for (int i = 0; i < LANES; i++) source_lane[i] = i + 1;
    return shuffle(x, (vector){0}, source_lane);
}

/* Reverses the order of lanes. */
INLINE vector reversed(vector x) {
    bits source_lane;
    UNROLL
    for (int i = 0; i < LANES; i++) source_lane[i] = LANES - 1 - i;
    return shuffle(x, x, source_lane);
}

/* LANES drawn positions from token i on. */
INLINE vector positions_from(const int32_t *position, int i, int T) {
    vector x = {0};
    for (int k = 0; k < LANES; k++) x[k] = (real)position[i + k < T ? i + k : T - 1];
    return x;
}

#endif
