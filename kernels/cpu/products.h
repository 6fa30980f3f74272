/* Products of rows and one learned vector of each head, which may be divided by its norm, and their gradients. */
#ifndef LONGHAND_KERNELS_PRODUCTS_H
#define LONGHAND_KERNELS_PRODUCTS_H

#include "kernels/cpu/vector.h"

static const real LEAST_NORM = (real)1e-6; /* divisor of vectors with a smaller norm */

/* The product of two rows of D channels. */
INLINE real dot_channels(const int D, const real *a, const real *b) {
    vector sum = {0};
    real rest = 0;
    int d = 0;
    for (; d + LANES <= D; d += LANES) sum += load(a + d) * load(b + d);
    for (; d < D; d++) rest += a[d] * b[d];
    return (D < LANES ? 0 : sum_lanes(sum)) + rest;
}

INLINE real find_divisor(const int D, const real *v) {
    real norm = sqrt_real(dot_channels(D, v, v));
    return norm > LEAST_NORM ? norm : LEAST_NORM;
}

/* Writes H vectors of D channels, each divided by its norm. */
INLINE void divide_by_norms(const int H, const int D, const real *v, real *unit) {
    for (int h = 0; h < H; h++, v += D, unit += D) {
        real divisor = find_divisor(D, v);
        for (int d = 0; d < D; d++) unit[d] = v[d] / divisor;
    }
}

/* Adds the gradients of H vectors, computed from the gradients of the vectors that divide_by_norms writes. */
INLINE void divide_by_norms_grad(const int H, const int D, const real *v, const real *dunit, real *dv) {
    for (int h = 0; h < H; h++, v += D, dunit += D, dv += D) {
        real divisor = find_divisor(D, v);
        real along = divisor > LEAST_NORM ? dot_channels(D, v, dunit) / (divisor * divisor) : 0;
        for (int d = 0; d < D; d++) dv[d] += (dunit[d] - along * v[d]) / divisor;
    }
}

/* Adds the gradients of a row and of a vector, computed from the gradient of their product. */
INLINE void add_product_grad(const int D, real dproduct, const real *row, const real *factor, real *drow,
                             real *dfactor) {
    for (int d = 0; d < D; d++) {
        drow[d] += dproduct * factor[d];
        dfactor[d] += dproduct * row[d];
    }
}

#endif
