/* Reductions before an update: the sum of the gradients of parts of a batch, and the squared norm of the gradient. */
#ifndef LONGHAND_KERNELS_GRADIENT_H
#define LONGHAND_KERNELS_GRADIENT_H

#include "kernels/cpu/vector.h"
#include "longhand/cpu.h"

/* total += part; part = 0. count: a multiple of LANES. */
INLINE void fold_gradient(real *restrict total, real *restrict part, size_t count) {
    for (size_t i = 0; i < count; i += LANES) {
        store(total + i, load(total + i) + load(part + i));
        store(part + i, (vector){0});
    }
}

/* Sum of squares of count (a multiple of 4 LANES) elements. */
INLINE double sum_of_squares(const real *x, size_t count) {
    vector sum[4] = {{0}};
    for (size_t i = 0; i < count; i += 4 * LANES) {
        UNROLL
        for (int j = 0; j < 4; j++) sum[j] += load(x + i + j * LANES) * load(x + i + j * LANES);
    }
    return (double)sum_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

#endif
