/* Residual connections and norms over rows of C channels, each as one pass, forward and backward.
 *
 *   z = residual + branch (with dropout if the model has it), or the row x alone
 *   layer norm: xhat = (z - mean) rstd, rstd = 1 / sqrt(variance + 1e-5), variance biased, y = xhat scale + offset
 *   RMS norm: xhat = z rstd, rstd = 1 / sqrt(mean of z^2 + 1e-5), y = xhat scale
 *
 * Names: layer_norm and rms_norm normalise rows x; [rms_]add_[dropout_]norm[_sum] normalise sums z. A function with
 * _sum also stores z, for models with a norm before each branch. The function <name>_grad computes the gradient: it
 * writes dz from dy. If <name> ends in _sum, it adds to an existing dz, the gradient of the residual stream;
 * layer_norm_grad_added and rms_norm_grad_added also add to dz. dz is the gradient of both residual and branch; with
 * dropout, dbranch is the gradient of the branch.
 *
 * Arrays are [rows][C]; rstd is [rows]; scale, offset and their gradients are [C]. Functions add to the gradients of
 * scale and offset. dropout_keep writes keep; keep_scale = 1 / (1 - p). The backward pass reads xhat and rstd of the
 * forward pass. Pointers without `restrict` may be the same. C is a constant in every call. Reference:
 * lh_ref_layer_norm, lh_ref_rms_norm. Source of RMS norm: Zhang and Sennrich 2019, arXiv:1910.07467.
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

/* Stores z, the gradient of a sum, in dz, and the gradient of the sum's branch, before its dropout, in dbranch. */
INLINE void store_dropout_row(const int C, const vector *z, const int8_t *keep, real keep_scale, real *dz,
                              real *dbranch) {
    UNROLL
    for (int j = 0; j < C / LANES; j++) {
        store(dz + j * LANES, z[j]);
        store(dbranch + j * LANES, keep_where(keep_mask(keep + j * LANES), z[j] * keep_scale));
    }
}

/* z += x */
INLINE void accumulate_row(const int C, const real *x, vector *z) {
    UNROLL
    for (int j = 0; j < C / LANES; j++) z[j] += load(x + j * LANES);
}

/* total += row */
INLINE void add_row(const int C, real *restrict total, const vector *row) {
    UNROLL
    for (int j = 0; j < C / LANES; j++) store(total + j * LANES, load(total + j * LANES) + row[j]);
}

INLINE real inverse_root(real x) { return 1 / sqrt_real(x); }

/* Writes xhat, rstd and y of a layer norm from z, which is overwritten. */
INLINE void normalise_row(const int C, vector *z, const real *scale, const real *offset, real *restrict xhat,
                          real *restrict rstd, real *restrict y) {
    vector sum = {0}, square = {0};
    UNROLL
    for (int j = 0; j < C / LANES; j++) sum += z[j];
    vector mean = broadcast_sum(sum) * (real)(1.0 / C);
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

/* Writes xhat, rstd and y of an RMS norm from z. */
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

/* Writes the gradient dz of a row of a layer norm; adds to the running sums of dscale and doffset. */
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
    vector mean = broadcast_sum(sum) * (real)(1.0 / C), projection = broadcast_sum(product) * (real)(1.0 / C);
    UNROLL
    for (int j = 0; j < C / LANES; j++) dz[j] = (dz[j] - mean - n[j] * projection) * rstd;
}

/* Writes the gradient dz of a row of an RMS norm; adds to the running sum of dscale. */
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
    vector projection = broadcast_sum(product) * (real)(1.0 / C);
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

/* Copies rows [rows][C]. */
INLINE void copy_rows(int rows, const int C, const real *restrict from, real *restrict to) {
    memcpy(to, from, (size_t)(rows * C) * sizeof(real));
}

/* dbranch = dy * keep_scale where kept, else 0. */
INLINE void dropout_grad(int rows, const int C, const real *dy, const int8_t *restrict keep, real keep_scale,
                         real *dbranch) {
    for (int i = 0; i < rows * C; i += LANES)
        store(dbranch + i, keep_where(keep_mask(keep + i), load(dy + i) * keep_scale));
}

/* ---- norms: `form` is a constant of each call, which selects the parts of a pass ---- */

/* ADDS: z = residual + branch. DROPS: z = residual + dropout(branch). KEEPS_SUM: z is stored in `sum`. */
enum { LAYER_NORM = 0, RMS_NORM = 1, ADDS = 2, DROPS = 4, KEEPS_SUM = 8 };

INLINE void norm_rows(const int form, int rows, const int C, const real *residual, const real *branch,
                      const int8_t *keep, real keep_scale, const real *scale, const real *offset, real *sum,
                      real *restrict xhat, real *restrict rstd, real *y) {
    for (int m = 0; m < rows; m++) {
        const int row = m * C;
        vector z[ROW_VECTORS];
        if (form & DROPS) load_dropout_sum(C, residual + row, branch + row, keep + row, keep_scale, z);
        else if (form & ADDS) load_sum(C, residual + row, branch + row, z);
        else load_row(C, residual + row, z);
        if (form & KEEPS_SUM) store_row(C, z, sum + row);
        if (form & RMS_NORM) rms_row(C, z, scale, xhat + row, rstd + m, y + row);
        else normalise_row(C, z, scale, offset, xhat + row, rstd + m, y + row);
    }
}

/* Computes gradients of rows. With KEEPS_SUM the gradient is added to dz, without it dz is written. */
INLINE void norm_rows_grad(const int form, int rows, const int C, const real *dy, const real *restrict xhat,
                           const real *restrict rstd, const real *scale, const int8_t *keep, real keep_scale, real *dz,
                           real *dbranch, real *restrict dscale, real *restrict doffset) {
    vector dscale_sum[ROW_VECTORS] = {{0}}, doffset_sum[ROW_VECTORS] = {{0}};
    for (int m = 0; m < rows; m++) {
        const int row = m * C;
        vector z[ROW_VECTORS];
        if (form & RMS_NORM) rms_row_grad(C, dy + row, xhat + row, rstd[m], scale, dscale_sum, z);
        else norm_row_grad(C, dy + row, xhat + row, rstd[m], scale, dscale_sum, doffset_sum, z);
        if (form & KEEPS_SUM) accumulate_row(C, dz + row, z);
        if (form & DROPS) store_dropout_row(C, z, keep + row, keep_scale, dz + row, dbranch + row);
        else store_row(C, z, dz + row);
    }
    add_row(C, dscale, dscale_sum);
    if (!(form & RMS_NORM)) add_row(C, doffset, doffset_sum);
}

/* ---- layer norm ---- */

/* y = norm(x) */
INLINE void layer_norm(int rows, const int C, const real *x, const real *scale, const real *offset, real *restrict xhat,
                       real *restrict rstd, real *y) {
    norm_rows(LAYER_NORM, rows, C, x, NULL, NULL, 1, scale, offset, NULL, xhat, rstd, y);
}

/* y = norm(residual + branch) */
INLINE void add_norm(int rows, const int C, const real *residual, const real *branch, const real *scale,
                     const real *offset, real *restrict xhat, real *restrict rstd, real *y) {
    norm_rows(LAYER_NORM | ADDS, rows, C, residual, branch, NULL, 1, scale, offset, NULL, xhat, rstd, y);
}

/* y = norm(residual + dropout(branch)) */
INLINE void add_dropout_norm(int rows, const int C, const real *residual, const real *branch,
                             const int8_t *restrict keep, real keep_scale, const real *scale, const real *offset,
                             real *restrict xhat, real *restrict rstd, real *y) {
    norm_rows(LAYER_NORM | DROPS, rows, C, residual, branch, keep, keep_scale, scale, offset, NULL, xhat, rstd, y);
}

/* sum = residual + branch, y = norm(sum) */
INLINE void add_norm_sum(int rows, const int C, const real *residual, const real *branch, const real *scale,
                         const real *offset, real *sum, real *restrict xhat, real *restrict rstd, real *y) {
    norm_rows(LAYER_NORM | ADDS | KEEPS_SUM, rows, C, residual, branch, NULL, 1, scale, offset, sum, xhat, rstd, y);
}

/* sum = residual + dropout(branch), y = norm(sum) */
INLINE void add_dropout_norm_sum(int rows, const int C, const real *residual, const real *branch,
                                 const int8_t *restrict keep, real keep_scale, const real *scale, const real *offset,
                                 real *sum, real *restrict xhat, real *restrict rstd, real *y) {
    norm_rows(LAYER_NORM | DROPS | KEEPS_SUM, rows, C, residual, branch, keep, keep_scale, scale, offset, sum, xhat,
              rstd, y);
}

/* dy may be dz. */
INLINE void layer_norm_grad(int rows, const int C, const real *dy, const real *restrict xhat, const real *restrict rstd,
                            const real *scale, real *dz, real *restrict dscale, real *restrict doffset) {
    norm_rows_grad(LAYER_NORM, rows, C, dy, xhat, rstd, scale, NULL, 1, dz, NULL, dscale, doffset);
}

INLINE void layer_norm_grad_added(int rows, const int C, const real *dy, const real *restrict xhat,
                                  const real *restrict rstd, const real *scale, real *dz, real *restrict dscale,
                                  real *restrict doffset) {
    norm_rows_grad(LAYER_NORM | KEEPS_SUM, rows, C, dy, xhat, rstd, scale, NULL, 1, dz, NULL, dscale, doffset);
}

/* dy may be dz. */
INLINE void add_norm_grad(int rows, const int C, const real *dy, const real *restrict xhat, const real *restrict rstd,
                          const real *scale, real *dz, real *restrict dscale, real *restrict doffset) {
    norm_rows_grad(LAYER_NORM, rows, C, dy, xhat, rstd, scale, NULL, 1, dz, NULL, dscale, doffset);
}

/* dbranch = dz * keep_scale where kept, else 0; dy may be dz. */
INLINE void add_dropout_norm_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                                  const real *restrict rstd, const real *scale, const int8_t *restrict keep,
                                  real keep_scale, real *dz, real *dbranch, real *restrict dscale,
                                  real *restrict doffset) {
    norm_rows_grad(LAYER_NORM | DROPS, rows, C, dy, xhat, rstd, scale, keep, keep_scale, dz, dbranch, dscale, doffset);
}

INLINE void add_norm_sum_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                              const real *restrict rstd, const real *scale, real *dz, real *restrict dscale,
                              real *restrict doffset) {
    norm_rows_grad(LAYER_NORM | KEEPS_SUM, rows, C, dy, xhat, rstd, scale, NULL, 1, dz, NULL, dscale, doffset);
}

/* dbranch = dz * keep_scale where kept, else 0; dbranch may be dy. */
INLINE void add_dropout_norm_sum_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                                      const real *restrict rstd, const real *scale, const int8_t *restrict keep,
                                      real keep_scale, real *dz, real *dbranch, real *restrict dscale,
                                      real *restrict doffset) {
    norm_rows_grad(LAYER_NORM | DROPS | KEEPS_SUM, rows, C, dy, xhat, rstd, scale, keep, keep_scale, dz, dbranch,
                   dscale, doffset);
}

/* ---- RMS norm: the functions above with rms_ in their names ---- */

INLINE void rms_norm(int rows, const int C, const real *x, const real *scale, real *restrict xhat, real *restrict rstd,
                     real *y) {
    norm_rows(RMS_NORM, rows, C, x, NULL, NULL, 1, scale, NULL, NULL, xhat, rstd, y);
}

INLINE void rms_add_norm(int rows, const int C, const real *residual, const real *branch, const real *scale,
                         real *restrict xhat, real *restrict rstd, real *y) {
    norm_rows(RMS_NORM | ADDS, rows, C, residual, branch, NULL, 1, scale, NULL, NULL, xhat, rstd, y);
}

INLINE void rms_add_dropout_norm(int rows, const int C, const real *residual, const real *branch,
                                 const int8_t *restrict keep, real keep_scale, const real *scale, real *restrict xhat,
                                 real *restrict rstd, real *y) {
    norm_rows(RMS_NORM | DROPS, rows, C, residual, branch, keep, keep_scale, scale, NULL, NULL, xhat, rstd, y);
}

INLINE void rms_add_norm_sum(int rows, const int C, const real *residual, const real *branch, const real *scale,
                             real *sum, real *restrict xhat, real *restrict rstd, real *y) {
    norm_rows(RMS_NORM | ADDS | KEEPS_SUM, rows, C, residual, branch, NULL, 1, scale, NULL, sum, xhat, rstd, y);
}

INLINE void rms_add_dropout_norm_sum(int rows, const int C, const real *residual, const real *branch,
                                     const int8_t *restrict keep, real keep_scale, const real *scale, real *sum,
                                     real *restrict xhat, real *restrict rstd, real *y) {
    norm_rows(RMS_NORM | DROPS | KEEPS_SUM, rows, C, residual, branch, keep, keep_scale, scale, NULL, sum, xhat, rstd,
              y);
}

INLINE void rms_norm_grad(int rows, const int C, const real *dy, const real *restrict xhat, const real *restrict rstd,
                          const real *scale, real *dz, real *restrict dscale) {
    norm_rows_grad(RMS_NORM, rows, C, dy, xhat, rstd, scale, NULL, 1, dz, NULL, dscale, NULL);
}

INLINE void rms_norm_grad_added(int rows, const int C, const real *dy, const real *restrict xhat,
                                const real *restrict rstd, const real *scale, real *dz, real *restrict dscale) {
    norm_rows_grad(RMS_NORM | KEEPS_SUM, rows, C, dy, xhat, rstd, scale, NULL, 1, dz, NULL, dscale, NULL);
}

INLINE void rms_add_norm_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                              const real *restrict rstd, const real *scale, real *dz, real *restrict dscale) {
    norm_rows_grad(RMS_NORM, rows, C, dy, xhat, rstd, scale, NULL, 1, dz, NULL, dscale, NULL);
}

INLINE void rms_add_dropout_norm_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                                      const real *restrict rstd, const real *scale, const int8_t *restrict keep,
                                      real keep_scale, real *dz, real *dbranch, real *restrict dscale) {
    norm_rows_grad(RMS_NORM | DROPS, rows, C, dy, xhat, rstd, scale, keep, keep_scale, dz, dbranch, dscale, NULL);
}

INLINE void rms_add_norm_sum_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                                  const real *restrict rstd, const real *scale, real *dz, real *restrict dscale) {
    norm_rows_grad(RMS_NORM | KEEPS_SUM, rows, C, dy, xhat, rstd, scale, NULL, 1, dz, NULL, dscale, NULL);
}

INLINE void rms_add_dropout_norm_sum_grad(int rows, const int C, const real *dy, const real *restrict xhat,
                                          const real *restrict rstd, const real *scale, const int8_t *restrict keep,
                                          real keep_scale, real *dz, real *dbranch, real *restrict dscale) {
    norm_rows_grad(RMS_NORM | DROPS | KEEPS_SUM, rows, C, dy, xhat, rstd, scale, keep, keep_scale, dz, dbranch, dscale,
                   NULL);
}

#endif
