/* Residual connection and layer norm as one pass over rows of C features, forward and backward.
 *
 *   z = residual + branch (dropped out where the model drops out), xhat = (z - mean) rstd,
 *   rstd = 1 / sqrt(variance + 1e-5), variance biased, y = xhat scale + offset
 *
 * Saved for the backward pass: xhat [rows][C], rstd [rows]. Reference: lh_ref_layer_norm.
 */
#ifndef LONGHAND_KERNELS_LAYERNORM_H
#define LONGHAND_KERNELS_LAYERNORM_H

#include "kernels/cpu/dropout.h"
#include "kernels/cpu/vector.h"

INLINE real inverse_root(real x) {
#if REAL_BYTES == 8
    return 1 / __builtin_sqrt(x);
#else
    return 1 / __builtin_sqrtf(x);
#endif
}

INLINE void normalise_row(const int C, vector *z, const real *scale, const real *offset, real *restrict xhat,
                          real *restrict rstd, real *restrict y) {
    vector sum = {0}, square = {0};
    UNROLL
    for (int j = 0; j < C / LANES; j++) sum += z[j];
    vector mean = sum_everywhere(sum) * (real)(1.0 / C);
    UNROLL
    for (int j = 0; j < C / LANES; j++) {
        z[j] -= mean;
        square += z[j] * z[j];
    }
    *rstd = inverse_root(sum_lanes(square) * (real)(1.0 / C) + (real)1e-5);
    UNROLL
    for (int j = 0; j < C / LANES; j++) {
        vector n = z[j] * *rstd;
        store(xhat + j * LANES, n);
        store(y + j * LANES, n * load(scale + j * LANES) + load(offset + j * LANES));
    }
}

/* y = norm(residual + branch); all [rows][C]. */
INLINE void add_norm(int rows, const int C, const real *restrict residual, const real *restrict branch,
                     const real *scale, const real *offset, real *restrict xhat, real *restrict rstd,
                     real *restrict y) {
    for (int m = 0; m < rows; m++, residual += C, branch += C, xhat += C, y += C) {
        vector z[ROW_VECTORS];
        UNROLL
        for (int j = 0; j < C / LANES; j++) z[j] = load(residual + j * LANES) + load(branch + j * LANES);
        normalise_row(C, z, scale, offset, xhat, rstd + m, y);
    }
}

/* y = norm(residual + dropout(branch)); keep [rows][C] from dropout_keep, keep_scale = 1 / (1 - p). */
INLINE void add_dropout_norm(int rows, const int C, const real *restrict residual, const real *restrict branch,
                             const int8_t *restrict keep, real keep_scale, const real *scale, const real *offset,
                             real *restrict xhat, real *restrict rstd, real *restrict y) {
    for (int m = 0; m < rows; m++, residual += C, branch += C, keep += C, xhat += C, y += C) {
        vector z[ROW_VECTORS];
        UNROLL
        for (int j = 0; j < C / LANES; j++)
            z[j] = load(residual + j * LANES) +
                   keep_where(keep_mask(keep + j * LANES), load(branch + j * LANES) * keep_scale);
        normalise_row(C, z, scale, offset, xhat, rstd + m, y);
    }
}

/* The gradient of one row: dz from dy; adds to the running sums of dscale and doffset. */
INLINE void norm_row_grad(const int C, const real *dy, const real *restrict xhat, real rstd, const real *scale,
                          vector *dscale, vector *doffset, vector *dz) {
    vector n[ROW_VECTORS], sum = {0}, product = {0};
    UNROLL
    for (int j = 0; j < C / LANES; j++) {
        vector d = load(dy + j * LANES);
        n[j] = load(xhat + j * LANES);
        dscale[j] += d * n[j];
        doffset[j] += d;
        dz[j] = d * load(scale + j * LANES);
        sum += dz[j];
        product += dz[j] * n[j];
    }
    vector mean = sum_everywhere(sum) * (real)(1.0 / C), projection = sum_everywhere(product) * (real)(1.0 / C);
    UNROLL
    for (int j = 0; j < C / LANES; j++) dz[j] = (dz[j] - mean - n[j] * projection) * rstd;
}

INLINE void add_row(const int C, real *restrict total, const vector *row) {
    UNROLL
    for (int j = 0; j < C / LANES; j++) store(total + j * LANES, load(total + j * LANES) + row[j]);
}

/* dz [rows][C], the gradient of residual and branch alike; dy may be dz. Adds to dscale[C], doffset[C]. */
INLINE void add_norm_grad(int rows, const int C, const real *dy, const real *restrict xhat, const real *restrict rstd,
                          const real *scale, real *dz, real *restrict dscale, real *restrict doffset) {
    vector dscale_sum[ROW_VECTORS] = {{0}}, doffset_sum[ROW_VECTORS] = {{0}};
    for (int m = 0; m < rows; m++, dy += C, xhat += C, dz += C) {
        vector z[ROW_VECTORS];
        norm_row_grad(C, dy, xhat, rstd[m], scale, dscale_sum, doffset_sum, z);
        UNROLL
        for (int j = 0; j < C / LANES; j++) store(dz + j * LANES, z[j]);
    }
    add_row(C, dscale, dscale_sum);
    add_row(C, doffset, doffset_sum);
}

/* As above, and dbranch [rows][C] = dz where kept, scaled. */
INLINE void add_dropout_norm_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                                  const real *restrict rstd, const real *scale, const int8_t *restrict keep,
                                  real keep_scale, real *dz, real *restrict dbranch, real *restrict dscale,
                                  real *restrict doffset) {
    vector dscale_sum[ROW_VECTORS] = {{0}}, doffset_sum[ROW_VECTORS] = {{0}};
    for (int m = 0; m < rows; m++, dy += C, xhat += C, keep += C, dz += C, dbranch += C) {
        vector z[ROW_VECTORS];
        norm_row_grad(C, dy, xhat, rstd[m], scale, dscale_sum, doffset_sum, z);
        UNROLL
        for (int j = 0; j < C / LANES; j++) {
            store(dz + j * LANES, z[j]);
            store(dbranch + j * LANES, keep_where(keep_mask(keep + j * LANES), z[j] * keep_scale));
        }
    }
    add_row(C, dscale, dscale_sum);
    add_row(C, doffset, doffset_sum);
}

#endif
