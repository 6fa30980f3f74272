/* Layer norm of rows of WIDTH channels: a warp takes a few rows at a time, whose loads are in flight together.
 * Reference: lh_ref_layernorm; epsilon as on the CPU. */

enum {
    ROW_PART = (WIDTH + WARP - 1) / WARP, /* channels of a lane: lane, lane + 32, ... */
    NORM_ROWS = ROW_PART <= 4 ? 4 : 1     /* rows at a time: first, first + WARPS, ... */
};

/* The lane's channels of a row; 0 where there is none. */
INLINE void load_row(const real *x, int row, int rows, real part[ROW_PART]) {
    is_global(x);
#pragma unroll
    for (int u = 0; u < ROW_PART; u++) {
        const int c = (int)threadIdx.x % WARP + u * WARP;
        part[u] = row < rows && c < WIDTH ? x[row * WIDTH + c] : 0;
    }
}

INLINE void store_row(const real part[ROW_PART], int row, int rows, real *x) {
    is_global(x);
#pragma unroll
    for (int u = 0; u < ROW_PART; u++) {
        const int c = (int)threadIdx.x % WARP + u * WARP;
        if (row < rows && c < WIDTH) x[row * WIDTH + c] = part[u];
    }
}

/* Norms the rows in place, and gives what they were divided by, inverted. */
INLINE void norm_rows(real z[NORM_ROWS][ROW_PART], real rstd[NORM_ROWS]) {
    real sum[NORM_ROWS];
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        sum[r] = 0;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) sum[r] += z[r][u];
    }
    warp_sums(sum, NORM_ROWS);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        const real mean = sum[r] / WIDTH;
        sum[r] = 0;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            z[r][u] = (int)threadIdx.x % WARP + u * WARP < WIDTH ? z[r][u] - mean : 0;
            sum[r] += z[r][u] * z[r][u];
        }
    }
    warp_sums(sum, NORM_ROWS);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        rstd[r] = 1 / sqrt(sum[r] / WIDTH + (real)1e-5);
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) z[r][u] *= rstd[r];
    }
}

/* The gradients of rows in place: g those of the norm's output, then of its input. */
INLINE void norm_rows_grad(real g[NORM_ROWS][ROW_PART], const real xhat[NORM_ROWS][ROW_PART],
                           const real rstd[NORM_ROWS], const real scale[ROW_PART]) {
    real sum[2 * NORM_ROWS]; /* of gradients; of their products with xhat */
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        sum[r] = sum[NORM_ROWS + r] = 0;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            g[r][u] *= scale[u];
            sum[r] += g[r][u];
            sum[NORM_ROWS + r] += g[r][u] * xhat[r][u];
        }
    }
    warp_sums(sum, 2 * NORM_ROWS);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
        const real mean = sum[r] / WIDTH, slope = sum[NORM_ROWS + r] / WIDTH;
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) g[r][u] = rstd[r] * (g[r][u] - mean - xhat[r][u] * slope);
    }
}

/* A warp's part of the gradients of scale and offset: sums over its rows of g xhat and of g. */
typedef struct norm_sums {
    real slope[ROW_PART], total[ROW_PART];
} norm_sums;

INLINE void take_rows(const real g[NORM_ROWS][ROW_PART], const real xhat[NORM_ROWS][ROW_PART], norm_sums *sums) {
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            sums->slope[u] += g[r][u] * xhat[r][u];
            sums->total[u] += g[r][u];
        }
    }
}

/* Stores the sums of all warps, added in their order. */
INLINE void store_norm_sums(const norm_sums *sums, real *dscale, real *doffset) {
    is_global(dscale);
    is_global(doffset);
#pragma unroll
    for (int u = 0; u < ROW_PART; u++) {
        const real slope = add_parts(sums->slope[u], WARP), total = add_parts(sums->total[u], WARP);
        const int c = (int)threadIdx.x + u * WARP;
        if ((int)threadIdx.x < WARP && c < WIDTH) {
            dscale[c] = slope;
            doffset[c] = total;
        }
    }
    __syncthreads();
}
