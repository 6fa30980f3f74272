/* Rows of WIDTH channels in the registers of warps, for norms, in quads. ROW_LANES adjacent lanes share a row. */

enum {
    ROW_LANES = WIDTH <= 64    ? 8
                : WIDTH <= 128 ? 16
                               : 32,                     /* lanes that share a row: a power of two */
    ROW_QUADS = (WIDTH / 4 + ROW_LANES - 1) / ROW_LANES, /* quads of a lane in a row, ROW_LANES quads apart */
    ROW_PART = 4 * ROW_QUADS,                            /* channels of a lane */
    NORM_ROWS = 1,                                       /* rows of a lane at a time */
    NORM_STEP = THREADS / ROW_LANES,                     /* rows of a block at a time */
    NORM_SUMS = 2 * ROW_LANES * ROW_PART                 /* reals in the norm_sums of a row's lanes */
};
static_assert(WIDTH % 4 == 0 && (int)NORM_SUMS * NORM_STEP <= (int)STAGING, "rows are whole quads, and their sums fit");

INLINE int row_lane(void) { return threadIdx.x % ROW_LANES; }

/* The lane's first row. */
INLINE int first_norm_row(void) { return threadIdx.x / ROW_LANES; }

/* quad_channel: the first channel of a lane's quad u. in_row: whether a row has the lane's channel u. */
INLINE int quad_channel(const int u) { return 4 * (row_lane() + u * ROW_LANES); }
INLINE bool in_row(const int u) { return quad_channel(u / 4) < WIDTH; }

/* The lane's first channel of a row of x. */
INLINE const real *lane_part(const real *x, int row) {
    assume_global(x);
    return x + row * WIDTH + quad_channel(0);
}

/* Loads the lane's channels of a row; 0 for missing channels. */
INLINE void load_row(const real *x, int row, [[maybe_unused]] int rows, real part[ROW_PART]) {
    const real *from = lane_part(x, row);
#pragma unroll
    for (int u = 0; u < ROW_QUADS; u++) {
        quad q = {{0, 0, 0, 0}};
        if (in_row(4 * u)) q = *(const quad *)(from + 4 * u * ROW_LANES);
#pragma unroll
        for (int i = 0; i < 4; i++) part[4 * u + i] = q.v[i];
    }
}

INLINE void load_rows(const real *x, int row, int rows, real z[NORM_ROWS][ROW_PART]) { load_row(x, row, rows, z[0]); }

INLINE void store_rows(const real z[NORM_ROWS][ROW_PART], int row, [[maybe_unused]] int rows, real *x) {
    real *to = (real *)lane_part(x, row);
#pragma unroll
    for (int u = 0; u < ROW_QUADS; u++) {
        quad q;
#pragma unroll
        for (int i = 0; i < 4; i++) q.v[i] = z[0][4 * u + i];
        if (in_row(4 * u)) *(quad *)(to + 4 * u * ROW_LANES) = q;
    }
}

/* Applies dropout to a row of a branch, or of its gradient. A gradient is then rounded as an operand of products. */
INLINE void drop_branch(const unsigned char *keep, real keep_scale, int row, [[maybe_unused]] int rows,
                        const bool is_gradient, real z[NORM_ROWS][ROW_PART]) {
    const unsigned int first = (unsigned int)(row * WIDTH + quad_channel(0));
    unsigned int bits[ROW_QUADS];
    assume_global(keep);
#pragma unroll
    for (int u = 0; u < ROW_QUADS; u++) bits[u] = in_row(4 * u) ? keep[first / 8 + u * ROW_LANES / 2] >> first % 8 : 0;
#pragma unroll
    for (int u = 0; u < ROW_PART; u++) {
        z[0][u] *= bits[u / 4] & 1u << u % 4 ? keep_scale : 0;
        if (is_gradient) z[0][u] = rounded_real(z[0][u]);
    }
}

INLINE void load_inverse(const real *rstd, int row, [[maybe_unused]] int rows, real inverse[NORM_ROWS]) {
    assume_global(rstd);
    inverse[0] = rstd[row];
}

INLINE void store_inverse(const real inverse[NORM_ROWS], int row, [[maybe_unused]] int rows, real *rstd) {
    assume_global(rstd);
    if (row_lane() == 0) rstd[row] = inverse[0];
}

/* Replaces each x[i], a lane's part of a sum over the channels of a row, by the whole sum. */
INLINE void row_sums(real *x, const int count) {
    const unsigned int row_mask = (0xffffffffu >> (WARP - ROW_LANES)) << threadIdx.x % WARP / ROW_LANES * ROW_LANES;
#pragma unroll
    for (int distance = ROW_LANES / 2; distance > 0; distance /= 2) {
#pragma unroll
        for (int i = 0; i < count; i++) x[i] += __shfl_xor_sync(row_mask, x[i], distance);
    }
}

/* Sums of the lane's channels over its rows.
 * slope: sums of dy * xhat, for dscale.
 * total: sums of dy, for doffset. */
typedef struct norm_sums {
    real slope[ROW_PART], total[ROW_PART];
} norm_sums;

/* Writes a lane's sums to shared memory, in the order of channels.
 * The sums of successive rows are NORM_SUMS reals apart. */
INLINE void share_norm_sums(const real part[ROW_PART], real *sums) {
    sums += threadIdx.x / ROW_LANES * NORM_SUMS + 4 * row_lane();
#pragma unroll
    for (int u = 0; u < ROW_QUADS; u++) {
        quad q;
#pragma unroll
        for (int i = 0; i < 4; i++) q.v[i] = part[4 * u + i];
        *(quad *)(sums + 4 * u * ROW_LANES) = q;
    }
}

/* The sums of four channels over all lanes with these channels, in a fixed order. */
INLINE quad add_norm_sums(const real *sums) {
    quad sum = *(const quad *)sums;
#pragma unroll
    for (int row = 1; row < NORM_STEP; row++) {
        const quad summand = *(const quad *)(sums + row * NORM_SUMS);
#pragma unroll
        for (int i = 0; i < 4; i++) sum.v[i] += summand.v[i];
    }
    return sum;
}

/* Stores the sums over all lanes with the same channels. */
INLINE void store_norm_sums(const norm_sums *sums, real *dscale, real *doffset) {
    assume_global(dscale);
    assume_global(doffset);
    share_norm_sums(sums->slope, staging());
    share_norm_sums(sums->total, staging() + NORM_SUMS / 2);
    __syncthreads();
    for (int c = 4 * (int)threadIdx.x; c < 2 * WIDTH; c += 4 * THREADS) {
        const bool is_slope = c < WIDTH;
        const quad sum = add_norm_sums(staging() + (is_slope ? c : c - WIDTH + NORM_SUMS / 2));
        *(quad *)(is_slope ? dscale + c : doffset + (c - WIDTH)) = sum;
    }
    __syncthreads();
}

/* store_norm_sums for a norm without an offset. */
INLINE void store_rms_sums(const norm_sums *sums, real *dscale) {
    assume_global(dscale);
    share_norm_sums(sums->slope, staging());
    __syncthreads();
    for (int c = 4 * (int)threadIdx.x; c < WIDTH; c += 4 * THREADS)
        *(quad *)(dscale + c) = add_norm_sums(staging() + c);
    __syncthreads();
}
