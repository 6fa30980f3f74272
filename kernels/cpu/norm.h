/* Residual connections and norms over rows of C features, each as one pass, forward and backward.
 *
 *   z = residual + branch (with dropout if the model has it), or the row x alone
 *   layer norm: xhat = (z - mean) rstd, rstd = 1 / sqrt(variance + 1e-5), variance biased, y = xhat scale + offset
 *   RMS norm: xhat = z rstd, rstd = 1 / sqrt(mean of z^2 + 1e-5), y = xhat scale
 *
 * Names: layer_norm and rms_norm take rows alone; [rms_]add_[dropout_]norm[_sum] take sums. _sum also stores z, for
 * models with a norm before each branch. The gradient of each function is <name>_grad. Gradients of _sum functions add
 * to an existing gradient of z, that of the residual stream; <name>_grad_added does so for rows alone.
 *
 * Arrays are [rows][C]; rstd is [rows]; scale, offset and their gradients are [C]. Functions add to the gradients of
 * scale and offset. keep is from dropout_keep, keep_scale = 1 / (1 - p). Saved for the backward pass: xhat, rstd.
 * Pointers without `restrict` may be the same. Every call is compiled for its constant C. Reference: lh_ref_layer_norm,
 * lh_ref_rms_norm.
 */
#ifndef LONGHAND_KERNELS_NORM_H
#define LONGHAND_KERNELS_NORM_H

#include "kernels/cpu/dropout.h"
#include "kernels/cpu/vector.h"

/* ---- one row ---- */

INLINE void load_row(const int C, const real *x, vector *z) {
    UNROLL
    for (int j = 0; j < C / LANES; j++) z[j] = load(x + j * LANES);
}

INLINE void load_sum(const int C, const real *residual, const real *branch, vector *z) {
    UNROLL
    for (int j = 0; j < C / LANES; j++) z[j] = load(residual + j * LANES) + load(branch + j * LANES);
}

INLINE void load_dropout_sum(const int C, const real *residual, const real *branch, const int8_t *keep, real keep_scale,
                             vector *z) {
    UNROLL
    for (int j = 0; j < C / LANES; j++)
        z[j] =
            load(residual + j * LANES) + keep_where(keep_mask(keep + j * LANES), load(branch + j * LANES) * keep_scale);
}

INLINE void store_row(const int C, const vector *z, real *x) {
    UNROLL
    for (int j = 0; j < C / LANES; j++) store(x + j * LANES, z[j]);
}

/* Stores the gradient of a sum, and the gradient of its branch through dropout. */
INLINE void store_dropout_row(const int C, const vector *z, const int8_t *keep, real keep_scale, real *dz,
                              real *dbranch) {
    UNROLL
    for (int j = 0; j < C / LANES; j++) {
        store(dz + j * LANES, z[j]);
        store(dbranch + j * LANES, keep_where(keep_mask(keep + j * LANES), z[j] * keep_scale));
    }
}

/* z[] += x. */
INLINE void accumulate_row(const int C, const real *x, vector *z) {
    UNROLL
    for (int j = 0; j < C / LANES; j++) z[j] += load(x + j * LANES);
}

INLINE void add_row(const int C, real *restrict total, const vector *row) {
    UNROLL
    for (int j = 0; j < C / LANES; j++) store(total + j * LANES, load(total + j * LANES) + row[j]);
}

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

INLINE void rms_row(const int C, const vector *z, const real *scale, real *restrict xhat, real *restrict rstd,
                    real *restrict y) {
    vector square = {0};
    UNROLL
    for (int j = 0; j < C / LANES; j++) square += z[j] * z[j];
    *rstd = inverse_root(sum_lanes(square) * (real)(1.0 / C) + (real)1e-5);
    UNROLL
    for (int j = 0; j < C / LANES; j++) {
        vector n = z[j] * *rstd;
        store(xhat + j * LANES, n);
        store(y + j * LANES, n * load(scale + j * LANES));
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

/* The gradient of a row of an RMS norm. */
INLINE void rms_row_grad(const int C, const real *dy, const real *restrict xhat, real rstd, const real *scale,
                         vector *dscale, vector *dz) {
    vector n[ROW_VECTORS], product = {0};
    UNROLL
    for (int j = 0; j < C / LANES; j++) {
        vector d = load(dy + j * LANES);
        n[j] = load(xhat + j * LANES);
        dscale[j] += d * n[j];
        dz[j] = d * load(scale + j * LANES);
        product += dz[j] * n[j];
    }
    vector projection = sum_everywhere(product) * (real)(1.0 / C);
    UNROLL
    for (int j = 0; j < C / LANES; j++) dz[j] = (dz[j] - n[j] * projection) * rstd;
}

/* ---- residual connections without a norm ---- */

/* out = residual + branch */
INLINE void add_branch(int rows, const int C, const real *residual, const real *branch, real *out) {
    for (int i = 0; i < rows * C; i += LANES) store(out + i, load(residual + i) + load(branch + i));
}

/* out = residual + dropout(branch) */
INLINE void add_dropout_branch(int rows, const int C, const real *residual, const real *branch,
                               const int8_t *restrict keep, real keep_scale, real *out) {
    for (int i = 0; i < rows * C; i += LANES)
        store(out + i, load(residual + i) + keep_where(keep_mask(keep + i), load(branch + i) * keep_scale));
}

/* Copies rows, for gradients that are used elsewhere while the original changes. */
INLINE void copy_rows(int rows, const int C, const real *restrict from, real *restrict to) {
    memcpy(to, from, (size_t)(rows * C) * sizeof(real));
}

/* dbranch = dy * keep_scale where kept, else 0. */
INLINE void dropout_grad(int rows, const int C, const real *dy, const int8_t *restrict keep, real keep_scale,
                         real *dbranch) {
    for (int i = 0; i < rows * C; i += LANES)
        store(dbranch + i, keep_where(keep_mask(keep + i), load(dy + i) * keep_scale));
}

/* ---- layer norm ---- */

/* y = norm(x) */
INLINE void layer_norm(int rows, const int C, const real *x, const real *scale, const real *offset, real *restrict xhat,
                       real *restrict rstd, real *y) {
    for (int m = 0; m < rows; m++, x += C, xhat += C, y += C) {
        vector z[ROW_VECTORS];
        load_row(C, x, z);
        normalise_row(C, z, scale, offset, xhat, rstd + m, y);
    }
}

/* y = norm(residual + branch) */
INLINE void add_norm(int rows, const int C, const real *restrict residual, const real *restrict branch,
                     const real *scale, const real *offset, real *restrict xhat, real *restrict rstd,
                     real *restrict y) {
    for (int m = 0; m < rows; m++, residual += C, branch += C, xhat += C, y += C) {
        vector z[ROW_VECTORS];
        load_sum(C, residual, branch, z);
        normalise_row(C, z, scale, offset, xhat, rstd + m, y);
    }
}

/* y = norm(residual + dropout(branch)) */
INLINE void add_dropout_norm(int rows, const int C, const real *restrict residual, const real *restrict branch,
                             const int8_t *restrict keep, real keep_scale, const real *scale, const real *offset,
                             real *restrict xhat, real *restrict rstd, real *restrict y) {
    for (int m = 0; m < rows; m++, residual += C, branch += C, keep += C, xhat += C, y += C) {
        vector z[ROW_VECTORS];
        load_dropout_sum(C, residual, branch, keep, keep_scale, z);
        normalise_row(C, z, scale, offset, xhat, rstd + m, y);
    }
}

/* sum = residual + branch, y = norm(sum) */
INLINE void add_norm_sum(int rows, const int C, const real *residual, const real *branch, const real *scale,
                         const real *offset, real *sum, real *restrict xhat, real *restrict rstd, real *y) {
    for (int m = 0; m < rows; m++, residual += C, branch += C, sum += C, xhat += C, y += C) {
        vector z[ROW_VECTORS];
        load_sum(C, residual, branch, z);
        store_row(C, z, sum);
        normalise_row(C, z, scale, offset, xhat, rstd + m, y);
    }
}

/* sum = residual + dropout(branch), y = norm(sum) */
INLINE void add_dropout_norm_sum(int rows, const int C, const real *residual, const real *branch,
                                 const int8_t *restrict keep, real keep_scale, const real *scale, const real *offset,
                                 real *sum, real *restrict xhat, real *restrict rstd, real *y) {
    for (int m = 0; m < rows; m++, residual += C, branch += C, keep += C, sum += C, xhat += C, y += C) {
        vector z[ROW_VECTORS];
        load_dropout_sum(C, residual, branch, keep, keep_scale, z);
        store_row(C, z, sum);
        normalise_row(C, z, scale, offset, xhat, rstd + m, y);
    }
}

/* Writes dx from dy; both may be the same array. */
INLINE void layer_norm_grad(int rows, const int C, const real *dy, const real *restrict xhat, const real *restrict rstd,
                            const real *scale, real *dx, real *restrict dscale, real *restrict doffset) {
    vector dscale_sum[ROW_VECTORS] = {{0}}, doffset_sum[ROW_VECTORS] = {{0}};
    for (int m = 0; m < rows; m++, dy += C, xhat += C, dx += C) {
        vector z[ROW_VECTORS];
        norm_row_grad(C, dy, xhat, rstd[m], scale, dscale_sum, doffset_sum, z);
        store_row(C, z, dx);
    }
    add_row(C, dscale, dscale_sum);
    add_row(C, doffset, doffset_sum);
}

/* Adds the norm's gradient to dx. */
INLINE void layer_norm_grad_added(int rows, const int C, const real *dy, const real *restrict xhat,
                                  const real *restrict rstd, const real *scale, real *dx, real *restrict dscale,
                                  real *restrict doffset) {
    vector dscale_sum[ROW_VECTORS] = {{0}}, doffset_sum[ROW_VECTORS] = {{0}};
    for (int m = 0; m < rows; m++, dy += C, xhat += C, dx += C) {
        vector z[ROW_VECTORS];
        norm_row_grad(C, dy, xhat, rstd[m], scale, dscale_sum, doffset_sum, z);
        add_row(C, dx, z);
    }
    add_row(C, dscale, dscale_sum);
    add_row(C, doffset, doffset_sum);
}

/* dz is the gradient of both residual and branch; dy may be dz. */
INLINE void add_norm_grad(int rows, const int C, const real *dy, const real *restrict xhat, const real *restrict rstd,
                          const real *scale, real *dz, real *restrict dscale, real *restrict doffset) {
    layer_norm_grad(rows, C, dy, xhat, rstd, scale, dz, dscale, doffset);
}

/* dz is the gradient of residual and sum; dbranch = dz * keep_scale where kept, else 0; dy may be dz. */
INLINE void add_dropout_norm_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                                  const real *restrict rstd, const real *scale, const int8_t *restrict keep,
                                  real keep_scale, real *dz, real *restrict dbranch, real *restrict dscale,
                                  real *restrict doffset) {
    vector dscale_sum[ROW_VECTORS] = {{0}}, doffset_sum[ROW_VECTORS] = {{0}};
    for (int m = 0; m < rows; m++, dy += C, xhat += C, keep += C, dz += C, dbranch += C) {
        vector z[ROW_VECTORS];
        norm_row_grad(C, dy, xhat, rstd[m], scale, dscale_sum, doffset_sum, z);
        store_dropout_row(C, z, keep, keep_scale, dz, dbranch);
    }
    add_row(C, dscale, dscale_sum);
    add_row(C, doffset, doffset_sum);
}

/* Adds the norm's gradient to dz, the gradient of the sum; the result is the gradient of both residual and branch. */
INLINE void add_norm_sum_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                              const real *restrict rstd, const real *scale, real *dz, real *restrict dscale,
                              real *restrict doffset) {
    layer_norm_grad_added(rows, C, dy, xhat, rstd, scale, dz, dscale, doffset);
}

/* As add_norm_sum_grad for a branch with dropout: dbranch = dz * keep_scale where kept, else 0; dbranch may be dy. */
INLINE void add_dropout_norm_sum_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                                      const real *restrict rstd, const real *scale, const int8_t *restrict keep,
                                      real keep_scale, real *dz, real *dbranch, real *restrict dscale,
                                      real *restrict doffset) {
    vector dscale_sum[ROW_VECTORS] = {{0}}, doffset_sum[ROW_VECTORS] = {{0}};
    for (int m = 0; m < rows; m++, dy += C, xhat += C, keep += C, dz += C, dbranch += C) {
        vector z[ROW_VECTORS];
        norm_row_grad(C, dy, xhat, rstd[m], scale, dscale_sum, doffset_sum, z);
        accumulate_row(C, dz, z);
        store_dropout_row(C, z, keep, keep_scale, dz, dbranch);
    }
    add_row(C, dscale, dscale_sum);
    add_row(C, doffset, doffset_sum);
}

/* ---- RMS norm, function by function as above: Zhang and Sennrich 2019, arXiv:1910.07467 ---- */

INLINE void rms_norm(int rows, const int C, const real *x, const real *scale, real *restrict xhat, real *restrict rstd,
                     real *y) {
    for (int m = 0; m < rows; m++, x += C, xhat += C, y += C) {
        vector z[ROW_VECTORS];
        load_row(C, x, z);
        rms_row(C, z, scale, xhat, rstd + m, y);
    }
}

INLINE void rms_add_norm(int rows, const int C, const real *residual, const real *branch, const real *scale,
                         real *restrict xhat, real *restrict rstd, real *y) {
    for (int m = 0; m < rows; m++, residual += C, branch += C, xhat += C, y += C) {
        vector z[ROW_VECTORS];
        load_sum(C, residual, branch, z);
        rms_row(C, z, scale, xhat, rstd + m, y);
    }
}

INLINE void rms_add_dropout_norm(int rows, const int C, const real *residual, const real *branch,
                                 const int8_t *restrict keep, real keep_scale, const real *scale, real *restrict xhat,
                                 real *restrict rstd, real *y) {
    for (int m = 0; m < rows; m++, residual += C, branch += C, keep += C, xhat += C, y += C) {
        vector z[ROW_VECTORS];
        load_dropout_sum(C, residual, branch, keep, keep_scale, z);
        rms_row(C, z, scale, xhat, rstd + m, y);
    }
}

INLINE void rms_add_norm_sum(int rows, const int C, const real *residual, const real *branch, const real *scale,
                             real *sum, real *restrict xhat, real *restrict rstd, real *y) {
    for (int m = 0; m < rows; m++, residual += C, branch += C, sum += C, xhat += C, y += C) {
        vector z[ROW_VECTORS];
        load_sum(C, residual, branch, z);
        store_row(C, z, sum);
        rms_row(C, z, scale, xhat, rstd + m, y);
    }
}

INLINE void rms_add_dropout_norm_sum(int rows, const int C, const real *residual, const real *branch,
                                     const int8_t *restrict keep, real keep_scale, const real *scale, real *sum,
                                     real *restrict xhat, real *restrict rstd, real *y) {
    for (int m = 0; m < rows; m++, residual += C, branch += C, keep += C, sum += C, xhat += C, y += C) {
        vector z[ROW_VECTORS];
        load_dropout_sum(C, residual, branch, keep, keep_scale, z);
        store_row(C, z, sum);
        rms_row(C, z, scale, xhat, rstd + m, y);
    }
}

INLINE void rms_norm_grad(int rows, const int C, const real *dy, const real *restrict xhat, const real *restrict rstd,
                          const real *scale, real *dx, real *restrict dscale) {
    vector dscale_sum[ROW_VECTORS] = {{0}};
    for (int m = 0; m < rows; m++, dy += C, xhat += C, dx += C) {
        vector z[ROW_VECTORS];
        rms_row_grad(C, dy, xhat, rstd[m], scale, dscale_sum, z);
        store_row(C, z, dx);
    }
    add_row(C, dscale, dscale_sum);
}

INLINE void rms_norm_grad_added(int rows, const int C, const real *dy, const real *restrict xhat,
                                const real *restrict rstd, const real *scale, real *dx, real *restrict dscale) {
    vector dscale_sum[ROW_VECTORS] = {{0}};
    for (int m = 0; m < rows; m++, dy += C, xhat += C, dx += C) {
        vector z[ROW_VECTORS];
        rms_row_grad(C, dy, xhat, rstd[m], scale, dscale_sum, z);
        add_row(C, dx, z);
    }
    add_row(C, dscale, dscale_sum);
}

INLINE void rms_add_norm_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                              const real *restrict rstd, const real *scale, real *dz, real *restrict dscale) {
    rms_norm_grad(rows, C, dy, xhat, rstd, scale, dz, dscale);
}

INLINE void rms_add_dropout_norm_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                                      const real *restrict rstd, const real *scale, const int8_t *restrict keep,
                                      real keep_scale, real *dz, real *dbranch, real *restrict dscale) {
    vector dscale_sum[ROW_VECTORS] = {{0}};
    for (int m = 0; m < rows; m++, dy += C, xhat += C, keep += C, dz += C, dbranch += C) {
        vector z[ROW_VECTORS];
        rms_row_grad(C, dy, xhat, rstd[m], scale, dscale_sum, z);
        store_dropout_row(C, z, keep, keep_scale, dz, dbranch);
    }
    add_row(C, dscale, dscale_sum);
}

INLINE void rms_add_norm_sum_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                                  const real *restrict rstd, const real *scale, real *dz, real *restrict dscale) {
    rms_norm_grad_added(rows, C, dy, xhat, rstd, scale, dz, dscale);
}

INLINE void rms_add_dropout_norm_sum_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                                          const real *restrict rstd, const real *scale, const int8_t *restrict keep,
                                          real keep_scale, real *dz, real *dbranch, real *restrict dscale) {
    vector dscale_sum[ROW_VECTORS] = {{0}};
    for (int m = 0; m < rows; m++, dy += C, xhat += C, keep += C, dz += C, dbranch += C) {
        vector z[ROW_VECTORS];
        rms_row_grad(C, dy, xhat, rstd[m], scale, dscale_sum, z);
        accumulate_row(C, dz, z);
        store_dropout_row(C, z, keep, keep_scale, dz, dbranch);
    }
    add_row(C, dscale, dscale_sum);
}

#endif
