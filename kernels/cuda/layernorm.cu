/* Layer norm of rows of WIDTH channels in registers. Reference: lh_ref_layer_norm. */

/* Normalises the rows in place; rstd = 1 / sqrt(variance + 1e-5). */
INLINE void norm_rows(real z[NORM_ROWS][ROW_PART], real rstd[NORM_ROWS]) {
    real sum[NORM_ROWS];
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        sum[r] = z[r][0];
#pragma unroll
        for (int u = 1; u < ROW_PART; u++) sum[r] += z[r][u];
    }
    row_sums(sum, NORM_ROWS);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        const real mean = sum[r] / WIDTH;
        sum[r] = 0;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            z[r][u] = in_row(u) ? z[r][u] - mean : 0;
            sum[r] += z[r][u] * z[r][u];
        }
    }
    row_sums(sum, NORM_ROWS);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        rstd[r] = 1 / sqrt(sum[r] / WIDTH + (real)1e-5);
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) z[r][u] *= rstd[r];
    }
}

/* Replaces g, the gradients of the norm's output, by the gradients of its input.
 * The function adds to sums->slope, the sums for dscale, and to sums->total, the sums for doffset. */
INLINE void norm_rows_grad(real g[NORM_ROWS][ROW_PART], const real xhat[NORM_ROWS][ROW_PART],
                           const real rstd[NORM_ROWS], const real scale[ROW_PART], norm_sums *sums) {
    real sum[2 * NORM_ROWS]; /* for each row, the sum of g; then for each row, the sum of g * xhat */
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        sum[r] = sum[NORM_ROWS + r] = 0;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            sums->slope[u] += g[r][u] * xhat[r][u];
            sums->total[u] += g[r][u];
            g[r][u] *= scale[u];
            sum[r] += g[r][u];
            sum[NORM_ROWS + r] += g[r][u] * xhat[r][u];
        }
    }
    row_sums(sum, 2 * NORM_ROWS);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        const real shift = rstd[r] * (sum[r] / -WIDTH), slope = rstd[r] * (sum[NORM_ROWS + r] / -WIDTH);
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) g[r][u] = rstd[r] * g[r][u] + (xhat[r][u] * slope + shift);
    }
}
