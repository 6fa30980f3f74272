/* Layer norm of rows of WIDTH channels, a warp per row. Reference: lh_ref_layernorm; epsilon as on the CPU. */

enum { ROW_PART = (WIDTH + WARP - 1) / WARP }; /* channels of a lane: lane, lane + 32, ... */

/* The gradient of one row: g that of the norm's output, d that of its input, at the lane's channels. */
INLINE void norm_row_grad(const real *g, const real *xhat, real rstd, const real *scale, real d[ROW_PART]) {
    const int lane = threadIdx.x % WARP;
    real mean = 0, slope = 0;
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
        d[u] = c < WIDTH ? rstd * (d[u] - mean - xhat[c] * slope) : 0;
    }
}

/* Gradients of scale and offset: sums over rows of g xhat and of g. In groups of rows, groups in order. */
INLINE void norm_sums(int rows, const real *g, const real *xhat, real *dscale, real *doffset) {
    const int span = WIDTH < THREADS ? WIDTH : THREADS, groups = THREADS / span;
    const int column = threadIdx.x % span, group = threadIdx.x / span;
    real *room = staging();
    is_global(g);
    is_global(xhat);
    is_global(dscale);
    is_global(doffset);
    for (int first = 0; first < WIDTH; first += span) {
        int c = first + column;
        real slope = 0, total = 0;
        if (group < groups && c < WIDTH) {
#pragma unroll 4
            for (int row = group; row < rows; row += groups) {
                slope += g[row * WIDTH + c] * xhat[row * WIDTH + c];
                total += g[row * WIDTH + c];
            }
        }
        __syncthreads();
        room[threadIdx.x] = slope;
        room[THREADS + threadIdx.x] = total;
        __syncthreads();
        if (group == 0 && c < WIDTH) {
            for (int other = 1; other < groups; other++) {
                slope += room[other * span + column];
                total += room[THREADS + other * span + column];
            }
            dscale[c] = slope;
            doffset[c] = total;
        }
    }
    __syncthreads();
}

/* sum[c] = sum over rows of a[row][c]. In groups of rows, groups in order. */
INLINE void column_sums(int rows, const int columns, const real *a, real *sum) {
    real *room = staging();
    is_global(a);
    is_global(sum);
    const int span = columns < THREADS ? columns : THREADS, groups = THREADS / span;
    const int column = threadIdx.x % span, group = threadIdx.x / span;
    for (int first = 0; first < columns; first += span) {
        int c = first + column;
        real total = 0;
        if (group < groups && c < columns) {
#pragma unroll 4
            for (int row = group; row < rows; row += groups) total += a[row * columns + c];
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
