/* RMS norms of rows; kernels/cpu/norm.h explains names and arguments. The functions correspond to those of norm.cu:
 * rms_norm to layer_norm, rms_add_norm to add_norm, and so on. Source: Zhang and Sennrich 2019, arXiv:1910.07467.
 * Reference: lh_ref_rms_norm. */

/* Multiplies the rows by rstd = 1 / sqrt(mean of squares + 1e-5), in place. */
INLINE void rms_rows(real z[NORM_ROWS][ROW_PART], real rstd[NORM_ROWS]) {
    real sum[NORM_ROWS];
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        sum[r] = 0;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) sum[r] += z[r][u] * z[r][u];
    }
    row_sums(sum, NORM_ROWS);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        rstd[r] = 1 / sqrt(sum[r] / WIDTH + (real)1e-5);
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) z[r][u] *= rstd[r];
    }
}

/* Replaces g, the gradients of the norm's output, by the gradients of its input. Adds to sums->slope, for dscale. */
INLINE void rms_rows_grad(real g[NORM_ROWS][ROW_PART], const real xhat[NORM_ROWS][ROW_PART], const real rstd[NORM_ROWS],
                          const real scale[ROW_PART], norm_sums *sums) {
    real sum[NORM_ROWS];
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        sum[r] = 0;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            sums->slope[u] += g[r][u] * xhat[r][u];
            g[r][u] *= scale[u];
            sum[r] += g[r][u] * xhat[r][u];
        }
    }
    row_sums(sum, NORM_ROWS);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        const real slope = sum[r] / WIDTH; /* the row's mean of g * xhat */
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) g[r][u] = rstd[r] * (g[r][u] - xhat[r][u] * slope);
    }
}

INLINE void finish_rms(real z[NORM_ROWS][ROW_PART], const real lane_scale[ROW_PART], int first, int rows, real *xhat,
                       real *rstd, real *y) {
    real inverse[NORM_ROWS];
    rms_rows(z, inverse);
    store_inverse(inverse, first, rows, rstd);
    store_rows(z, first, rows, xhat);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) z[r][u] *= lane_scale[u];
    }
    store_rows(z, first, rows, y);
}

INLINE void load_rms_grad(const real *dy, const real *xhat, const real *rstd, const real lane_scale[ROW_PART],
                          int first, int rows, norm_sums *sums, real g[NORM_ROWS][ROW_PART]) {
    real x[NORM_ROWS][ROW_PART], inverse[NORM_ROWS];
    load_rows(dy, first, rows, g);
    load_rows(xhat, first, rows, x);
    load_inverse(rstd, first, rows, inverse);
    rms_rows_grad(g, x, inverse, lane_scale, sums);
}

NOINLINE void rms_norm(int rows, const real *x, const real *scale, real *xhat, real *rstd, real *y) {
    real lane_scale[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real z[NORM_ROWS][ROW_PART];
        load_rows(x, first, rows, z);
        finish_rms(z, lane_scale, first, rows, xhat, rstd, y);
    }
    __syncthreads();
}

NOINLINE void rms_add_norm(int rows, const real *residual, const real *branch, const real *scale, real *xhat,
                           real *rstd, real *y) {
    real lane_scale[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real z[NORM_ROWS][ROW_PART];
        load_sums(residual, branch, first, rows, z);
        finish_rms(z, lane_scale, first, rows, xhat, rstd, y);
    }
    __syncthreads();
}

NOINLINE void rms_add_dropout_norm(int rows, const real *residual, const real *branch, const unsigned char *keep,
                                   real keep_scale, const real *scale, real *xhat, real *rstd, real *y) {
    real lane_scale[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real z[NORM_ROWS][ROW_PART];
        load_dropout_sums(residual, branch, keep, keep_scale, first, rows, z);
        finish_rms(z, lane_scale, first, rows, xhat, rstd, y);
    }
    __syncthreads();
}

NOINLINE void rms_add_norm_sum(int rows, const real *residual, const real *branch, const real *scale, real *sum,
                               real *xhat, real *rstd, real *y) {
    real lane_scale[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real z[NORM_ROWS][ROW_PART];
        load_sums(residual, branch, first, rows, z);
        store_rows(z, first, rows, sum);
        finish_rms(z, lane_scale, first, rows, xhat, rstd, y);
    }
    __syncthreads();
}

NOINLINE void rms_add_dropout_norm_sum(int rows, const real *residual, const real *branch, const unsigned char *keep,
                                       real keep_scale, const real *scale, real *sum, real *xhat, real *rstd, real *y) {
    real lane_scale[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real z[NORM_ROWS][ROW_PART];
        load_dropout_sums(residual, branch, keep, keep_scale, first, rows, z);
        store_rows(z, first, rows, sum);
        finish_rms(z, lane_scale, first, rows, xhat, rstd, y);
    }
    __syncthreads();
}

NOINLINE void rms_norm_grad(int rows, const real *dy, const real *xhat, const real *rstd, const real *scale, real *dx,
                            real *dscale) {
    norm_sums sums = {{0}, {0}};
    real lane_scale[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real g[NORM_ROWS][ROW_PART];
        load_rms_grad(dy, xhat, rstd, lane_scale, first, rows, &sums, g);
        store_rows(g, first, rows, dx);
    }
    store_rms_sums(&sums, dscale);
}

NOINLINE void rms_norm_grad_added(int rows, const real *dy, const real *xhat, const real *rstd, const real *scale,
                                  real *dx, real *dscale) {
    norm_sums sums = {{0}, {0}};
    real lane_scale[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real g[NORM_ROWS][ROW_PART];
        load_rms_grad(dy, xhat, rstd, lane_scale, first, rows, &sums, g);
        add_rows(dx, first, rows, g);
        store_rows(g, first, rows, dx);
    }
    store_rms_sums(&sums, dscale);
}

INLINE void rms_add_norm_grad(int rows, const real *dy, const real *xhat, const real *rstd, const real *scale, real *dz,
                              real *dscale) {
    rms_norm_grad(rows, dy, xhat, rstd, scale, dz, dscale);
}

NOINLINE void rms_add_dropout_norm_grad(int rows, const real *dy, const real *xhat, const real *rstd, const real *scale,
                                        const unsigned char *keep, real keep_scale, real *dz, real *dbranch,
                                        real *dscale) {
    norm_sums sums = {{0}, {0}};
    real lane_scale[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real g[NORM_ROWS][ROW_PART];
        load_rms_grad(dy, xhat, rstd, lane_scale, first, rows, &sums, g);
        store_rows(g, first, rows, dz);
        drop_branch(keep, keep_scale, first, rows, true, g);
        store_rows(g, first, rows, dbranch);
    }
    store_rms_sums(&sums, dscale);
}

INLINE void rms_add_norm_sum_grad(int rows, const real *dy, const real *xhat, const real *rstd, const real *scale,
                                  real *dz, real *dscale) {
    rms_norm_grad_added(rows, dy, xhat, rstd, scale, dz, dscale);
}

NOINLINE void rms_add_dropout_norm_sum_grad(int rows, const real *dy, const real *xhat, const real *rstd,
                                            const real *scale, const unsigned char *keep, real keep_scale, real *dz,
                                            real *dbranch, real *dscale) {
    norm_sums sums = {{0}, {0}};
    real lane_scale[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real g[NORM_ROWS][ROW_PART];
        load_rms_grad(dy, xhat, rstd, lane_scale, first, rows, &sums, g);
        add_rows(dz, first, rows, g);
        store_rows(g, first, rows, dz);
        drop_branch(keep, keep_scale, first, rows, true, g);
        store_rows(g, first, rows, dbranch);
    }
    store_rms_sums(&sums, dscale);
}
