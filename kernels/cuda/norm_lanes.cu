/* Rows of WIDTH channels in the registers of warps, for norms. Adjacent lanes have adjacent channels.
 * A warp processes NORM_ROWS rows at a time, so that their loads overlap. */

enum {
    ROW_PART = (WIDTH + WARP - 1) / WARP, /* channels of a lane: lane, lane + 32, ... */
    NORM_ROWS = ROW_PART <= 4 ? 4 : 1,    /* rows of a warp at a time: first, first + WARPS, ... */
    NORM_STEP = NORM_ROWS * WARPS         /* rows of a block at a time */
};

/* The first row of a warp. */
INLINE int first_norm_row(void) { return threadIdx.x / WARP; }

/* Whether a row has the lane's channel u. */
INLINE bool in_row(const int u) { return (int)threadIdx.x % WARP + u * WARP < WIDTH; }

/* Loads the lane's channels of a row; 0 for missing rows and channels. */
INLINE void load_row(const real *x, int row, int rows, real part[ROW_PART]) {
    assume_global(x);
#pragma unroll
    for (int u = 0; u < ROW_PART; u++) {
        const int c = (int)threadIdx.x % WARP + u * WARP;
        part[u] = row < rows && c < WIDTH ? x[row * WIDTH + c] : 0;
    }
}

INLINE void store_row(const real part[ROW_PART], int row, int rows, real *x) {
    assume_global(x);
#pragma unroll
    for (int u = 0; u < ROW_PART; u++) {
        const int c = (int)threadIdx.x % WARP + u * WARP;
        if (row < rows && c < WIDTH) x[row * WIDTH + c] = part[u];
    }
}

INLINE void load_rows(const real *x, int first, int rows, real z[NORM_ROWS][ROW_PART]) {
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) load_row(x, first + r * WARPS, rows, z[r]);
}

INLINE void store_rows(const real z[NORM_ROWS][ROW_PART], int first, int rows, real *x) {
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) store_row(z[r], first + r * WARPS, rows, x);
}

/* Applies dropout to rows of a branch, or of its gradient. Only the drop_branch of norm_quads.cu reads is_gradient. */
INLINE void drop_branch(const unsigned char *keep, real keep_scale, int first, int rows,
                        [[maybe_unused]] const bool is_gradient, real z[NORM_ROWS][ROW_PART]) {
    bool is_kept[NORM_ROWS][ROW_PART];
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) {
            const int row = first + r * WARPS, c = threadIdx.x % WARP + u * WARP;
            is_kept[r][u] = row < rows && c < WIDTH && mask_bits(keep, row * WIDTH + c) & 1;
        }
    }
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) z[r][u] = is_kept[r][u] ? z[r][u] * keep_scale : 0;
    }
}

INLINE void load_inverse(const real *rstd, int first, int rows, real inverse[NORM_ROWS]) {
    assume_global(rstd);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) inverse[r] = first + r * WARPS < rows ? rstd[first + r * WARPS] : 0;
}

INLINE void store_inverse(const real inverse[NORM_ROWS], int first, int rows, real *rstd) {
    assume_global(rstd);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++)
        if (threadIdx.x % WARP == 0 && first + r * WARPS < rows) rstd[first + r * WARPS] = inverse[r];
}

/* Replaces each x[i], a lane's part of a sum over the channels of a row, by the whole sum. */
INLINE void row_sums(real *x, const int count) {
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
#pragma unroll
        for (int i = 0; i < count; i++) x[i] += __shfl_xor_sync(0xffffffffu, x[i], distance);
    }
}

/* Sums of the lane's channels over the rows of its warp.
 * slope: sums of dy * xhat, for dscale.
 * total: sums of dy, for doffset. */
typedef struct norm_sums {
    real slope[ROW_PART], total[ROW_PART];
} norm_sums;

/* Stores the sums over all warps, added in the order of warps. */
INLINE void store_norm_sums(const norm_sums *sums, real *dscale, real *doffset) {
    assume_global(dscale);
    assume_global(doffset);
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

/* store_norm_sums for a norm without an offset. */
INLINE void store_rms_sums(const norm_sums *sums, real *dscale) {
    assume_global(dscale);
#pragma unroll
    for (int u = 0; u < ROW_PART; u++) {
        const real slope = add_parts(sums->slope[u], WARP);
        const int c = (int)threadIdx.x + u * WARP;
        if ((int)threadIdx.x < WARP && c < WIDTH) dscale[c] = slope;
    }
    __syncthreads();
}
