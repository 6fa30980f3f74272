/* Residual connections and layer norms of rows of WIDTH channels, each as one pass by a block. kernels/cpu/norm.h
 * explains names and arguments. There are two differences: here `keep` has one bit per element and is NULL in a
 * forward pass without dropout, and gradients of scale and offset are stored instead of added. Reference:
 * lh_ref_layer_norm. */

/* Adds rows of x to z. */
INLINE void add_rows(const real *x, int first, int rows, real z[NORM_ROWS][ROW_PART]) {
    real summand[NORM_ROWS][ROW_PART];
    load_rows(x, first, rows, summand);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) z[r][u] += summand[r][u];
    }
}

INLINE void load_sums(const real *residual, const real *branch, int first, int rows, real z[NORM_ROWS][ROW_PART]) {
    load_rows(branch, first, rows, z);
    add_rows(residual, first, rows, z);
}

INLINE void load_dropout_sums(const real *residual, const real *branch, const unsigned char *keep, real keep_scale,
                              int first, int rows, real z[NORM_ROWS][ROW_PART]) {
    real stream[NORM_ROWS][ROW_PART];
    load_rows(residual, first, rows, stream);
    load_rows(branch, first, rows, z);
    if (keep) drop_branch(keep, keep_scale, first, rows, false, z);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) z[r][u] += stream[r][u];
    }
}

/* Computes the layer norm of rows in registers and stores xhat, rstd and y to memory. */
INLINE void finish_norm(real z[NORM_ROWS][ROW_PART], const real lane_scale[ROW_PART], const real lane_offset[ROW_PART],
                        int first, int rows, real *xhat, real *rstd, real *y) {
    real inverse[NORM_ROWS];
    norm_rows(z, inverse);
    store_inverse(inverse, first, rows, rstd);
    store_rows(z, first, rows, xhat);
#pragma unroll
    for (int r = 0; r < NORM_ROWS; r++) {
#pragma unroll
        for (int u = 0; u < ROW_PART; u++) z[r][u] = z[r][u] * lane_scale[u] + lane_offset[u];
    }
    store_rows(z, first, rows, y);
}

/* Loads dy and computes g, the gradients of the norm's input; adds to the sums of dscale and doffset. */
INLINE void load_norm_grad(const real *dy, const real *xhat, const real *rstd, const real lane_scale[ROW_PART],
                           int first, int rows, norm_sums *sums, real g[NORM_ROWS][ROW_PART]) {
    real x[NORM_ROWS][ROW_PART], inverse[NORM_ROWS];
    load_rows(dy, first, rows, g);
    load_rows(xhat, first, rows, x);
    load_inverse(rstd, first, rows, inverse);
    norm_rows_grad(g, x, inverse, lane_scale, sums);
}

/* out = residual + branch */
NOINLINE void add_branch(int rows, const real *residual, const real *branch, real *out) {
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real z[NORM_ROWS][ROW_PART];
        load_sums(residual, branch, first, rows, z);
        store_rows(z, first, rows, out);
    }
    __syncthreads();
}

/* out = residual + dropout(branch) */
NOINLINE void add_dropout_branch(int rows, const real *residual, const real *branch, const unsigned char *keep,
                                 real keep_scale, real *out) {
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real z[NORM_ROWS][ROW_PART];
        load_dropout_sums(residual, branch, keep, keep_scale, first, rows, z);
        store_rows(z, first, rows, out);
    }
    __syncthreads();
}

/* to = from */
NOINLINE void copy_rows(int rows, const real *from, real *to) {
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real z[NORM_ROWS][ROW_PART];
        load_rows(from, first, rows, z);
        store_rows(z, first, rows, to);
    }
    __syncthreads();
}

/* dbranch = dy * keep_scale where kept, else 0. */
NOINLINE void dropout_grad(int rows, const real *dy, const unsigned char *keep, real keep_scale, real *dbranch) {
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real g[NORM_ROWS][ROW_PART];
        load_rows(dy, first, rows, g);
        drop_branch(keep, keep_scale, first, rows, true, g);
        store_rows(g, first, rows, dbranch);
    }
    __syncthreads();
}

/* y = norm(x) */
NOINLINE void layer_norm(int rows, const real *x, const real *scale, const real *offset, real *xhat, real *rstd,
                         real *y) {
    real lane_scale[ROW_PART], lane_offset[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    load_row(offset, 0, 1, lane_offset);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real z[NORM_ROWS][ROW_PART];
        load_rows(x, first, rows, z);
        finish_norm(z, lane_scale, lane_offset, first, rows, xhat, rstd, y);
    }
    __syncthreads();
}

/* y = norm(residual + branch) */
NOINLINE void add_norm(int rows, const real *residual, const real *branch, const real *scale, const real *offset,
                       real *xhat, real *rstd, real *y) {
    real lane_scale[ROW_PART], lane_offset[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    load_row(offset, 0, 1, lane_offset);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real z[NORM_ROWS][ROW_PART];
        load_sums(residual, branch, first, rows, z);
        finish_norm(z, lane_scale, lane_offset, first, rows, xhat, rstd, y);
    }
    __syncthreads();
}

/* y = norm(residual + dropout(branch)) */
NOINLINE void add_dropout_norm(int rows, const real *residual, const real *branch, const unsigned char *keep,
                               real keep_scale, const real *scale, const real *offset, real *xhat, real *rstd,
                               real *y) {
    real lane_scale[ROW_PART], lane_offset[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    load_row(offset, 0, 1, lane_offset);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real z[NORM_ROWS][ROW_PART];
        load_dropout_sums(residual, branch, keep, keep_scale, first, rows, z);
        finish_norm(z, lane_scale, lane_offset, first, rows, xhat, rstd, y);
    }
    __syncthreads();
}

/* sum = residual + branch, y = norm(sum) */
NOINLINE void add_norm_sum(int rows, const real *residual, const real *branch, const real *scale, const real *offset,
                           real *sum, real *xhat, real *rstd, real *y) {
    real lane_scale[ROW_PART], lane_offset[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    load_row(offset, 0, 1, lane_offset);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real z[NORM_ROWS][ROW_PART];
        load_sums(residual, branch, first, rows, z);
        store_rows(z, first, rows, sum);
        finish_norm(z, lane_scale, lane_offset, first, rows, xhat, rstd, y);
    }
    __syncthreads();
}

/* sum = residual + dropout(branch), y = norm(sum) */
NOINLINE void add_dropout_norm_sum(int rows, const real *residual, const real *branch, const unsigned char *keep,
                                   real keep_scale, const real *scale, const real *offset, real *sum, real *xhat,
                                   real *rstd, real *y) {
    real lane_scale[ROW_PART], lane_offset[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    load_row(offset, 0, 1, lane_offset);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real z[NORM_ROWS][ROW_PART];
        load_dropout_sums(residual, branch, keep, keep_scale, first, rows, z);
        store_rows(z, first, rows, sum);
        finish_norm(z, lane_scale, lane_offset, first, rows, xhat, rstd, y);
    }
    __syncthreads();
}

/* Writes dx from dy; both may be the same array. */
NOINLINE void layer_norm_grad(int rows, const real *dy, const real *xhat, const real *rstd, const real *scale, real *dx,
                              real *dscale, real *doffset) {
    norm_sums sums = {{0}, {0}};
    real lane_scale[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real g[NORM_ROWS][ROW_PART];
        load_norm_grad(dy, xhat, rstd, lane_scale, first, rows, &sums, g);
        store_rows(g, first, rows, dx);
    }
    store_norm_sums(&sums, dscale, doffset);
}

/* Adds the norm's gradient to dx. */
NOINLINE void layer_norm_grad_added(int rows, const real *dy, const real *xhat, const real *rstd, const real *scale,
                                    real *dx, real *dscale, real *doffset) {
    norm_sums sums = {{0}, {0}};
    real lane_scale[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real g[NORM_ROWS][ROW_PART];
        load_norm_grad(dy, xhat, rstd, lane_scale, first, rows, &sums, g);
        add_rows(dx, first, rows, g);
        store_rows(g, first, rows, dx);
    }
    store_norm_sums(&sums, dscale, doffset);
}

/* dz is the gradient of both residual and branch; dy may be dz. */
INLINE void add_norm_grad(int rows, const real *dy, const real *xhat, const real *rstd, const real *scale, real *dz,
                          real *dscale, real *doffset) {
    layer_norm_grad(rows, dy, xhat, rstd, scale, dz, dscale, doffset);
}

/* dz is the gradient of the sum residual + dropout(branch), so also of residual; dbranch = dz * keep_scale where kept,
 * else 0; dy may be dz. */
NOINLINE void add_dropout_norm_grad(int rows, const real *dy, const real *xhat, const real *rstd, const real *scale,
                                    const unsigned char *keep, real keep_scale, real *dz, real *dbranch, real *dscale,
                                    real *doffset) {
    norm_sums sums = {{0}, {0}};
    real lane_scale[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real g[NORM_ROWS][ROW_PART];
        load_norm_grad(dy, xhat, rstd, lane_scale, first, rows, &sums, g);
        store_rows(g, first, rows, dz);
        drop_branch(keep, keep_scale, first, rows, true, g);
        store_rows(g, first, rows, dbranch);
    }
    store_norm_sums(&sums, dscale, doffset);
}

/* Adds the norm's gradient to dz, the gradient of the sum; the result is the gradient of both residual and branch. */
INLINE void add_norm_sum_grad(int rows, const real *dy, const real *xhat, const real *rstd, const real *scale, real *dz,
                              real *dscale, real *doffset) {
    layer_norm_grad_added(rows, dy, xhat, rstd, scale, dz, dscale, doffset);
}

/* Does the work of add_norm_sum_grad with dropout: dbranch = dz * keep_scale where kept, else 0; dbranch may be dy. */
NOINLINE void add_dropout_norm_sum_grad(int rows, const real *dy, const real *xhat, const real *rstd, const real *scale,
                                        const unsigned char *keep, real keep_scale, real *dz, real *dbranch,
                                        real *dscale, real *doffset) {
    norm_sums sums = {{0}, {0}};
    real lane_scale[ROW_PART];
    load_row(scale, 0, 1, lane_scale);
    for (int first = first_norm_row(); first < rows; first += NORM_STEP) {
        real g[NORM_ROWS][ROW_PART];
        load_norm_grad(dy, xhat, rstd, lane_scale, first, rows, &sums, g);
        add_rows(dz, first, rows, g);
        store_rows(g, first, rows, dz);
        drop_branch(keep, keep_scale, first, rows, true, g);
        store_rows(g, first, rows, dbranch);
    }
    store_norm_sums(&sums, dscale, doffset);
}
