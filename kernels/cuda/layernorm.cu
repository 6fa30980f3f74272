/* Layer norm of rows of WIDTH channels, a warp per row. Reference: lh_ref_layernorm; epsilon as on the CPU. */

enum { ROW_PART = (WIDTH + WARP - 1) / WARP }; /* channels of a lane: lane, lane + 32, ... */

/* The gradient of one row: in g that of the norm's output, out that of its input. */
INLINE void norm_row_grad(const real *g, const real *xhat, real rstd, const real *scale, real *out) {
    const int lane = threadIdx.x % WARP;
    real d[ROW_PART], mean = 0, slope = 0;
#pragma unroll
    for (int u = 0; u < ROW_PART; u++) {
        int c = lane + u * WARP;
        d[u] = c < WIDTH ? g[c] * scale[c] : 0;
        mean += d[u];
        slope += c < WIDTH ? d[u] * xhat[c] : 0;
    }
    mean = warp_sum(mean) / WIDTH;
    slope = warp_sum(slope) / WIDTH;
#pragma unroll
    for (int u = 0; u < ROW_PART; u++) {
        int c = lane + u * WARP;
        if (c < WIDTH) out[c] = rstd * (d[u] - mean - xhat[c] * slope);
    }
}

/* sum[c] = sum over rows of a[row][c], times b[row][c] where there is b. In groups of rows, groups in order. */
INLINE void column_sums(int rows, const int columns, const real *a, const real *b, real *sum) {
    real *room = staging();
    const int span = columns < THREADS ? columns : THREADS, groups = THREADS / span;
    const int column = threadIdx.x % span, group = threadIdx.x / span;
    for (int first = 0; first < columns; first += span) {
        int c = first + column;
        real total = 0;
        if (group < groups && c < columns) {
            for (int row = group; row < rows; row += groups)
                total += b ? a[row * columns + c] * b[row * columns + c] : a[row * columns + c];
        }
        __syncthreads();
        room[threadIdx.x] = total;
        __syncthreads();
        if (group == 0 && c < columns) {
            for (int other = 1; other < groups; other++) total += room[other * span + column];
            sum[c] = total;
        }
    }
    __syncthreads();
}
