/* Products of matrices in global memory by one block, tile by tile. All warps stage slabs (slab.cu) in shared memory.
 * While the block multiplies these slabs, it prefetches the next slabs into registers. With many rows, tiles are tall:
 * a warp then reads less for each product. Summands are added in the order of k, the summed index, for any number of
 * rows. Reference: lh_ref_matmul. */

enum {
    STAGE = SLAB * TILE,            /* elements of a slab: SLAB rows, TILE columns */
    BUFFER = (TALLEST + 1) * STAGE, /* up to TALLEST slabs of one operand, and one slab of the other */
    STAGING = 2 * BUFFER,           /* reals of shared memory */
    SHORT_ROWS = TILE + TILE / 2,   /* up to this number of rows, tiles of one slab are faster */
    FLAT_ROWS = 32                  /* up to this number of rows, tiles are flat: fewer warps are idle */
};

/* Prefetches a thread's part of the slab that begins at element (k, m) of x. Elements beyond K or M are 0. A warp
 * reads whole cache lines. */
INLINE void fetch(const order along, const real *x, int stride, int k, int m, int K, int M, quad part[2]) {
#pragma unroll
    for (int u = 0; u < 2; u++) {
        const int row = k + (along == ROWS ? (int)(threadIdx.x / 16) * 2 + u : (int)(threadIdx.x % 8) * 4);
        const int column = m + (along == ROWS ? (int)(threadIdx.x % 16) * 4 : (int)(threadIdx.x / 8) + u * 32);
        const quad none = {{0, 0, 0, 0}};
        part[u] = none;
        if (row < K && column < M)
            part[u] = *(const quad *)(x + (along == ROWS ? row * stride + column : column * stride + row));
    }
}

INLINE void stage(const order along, const quad part[2], staged *slab) {
    if (along == ROWS) {
        stage_rows(slab, (int)(threadIdx.x / 16) * 2, (int)(threadIdx.x % 16) * 4, part[0], part[1]);
    } else {
#pragma unroll
        for (int u = 0; u < 2; u++)
            stage_column(slab, (int)(threadIdx.x % 8) * 4, (int)(threadIdx.x / 8) + u * 32, part[u]);
    }
}

/* Two adjacent elements of a row. */
struct __align__(2 * sizeof(real)) pair {
    real v[2];
};

INLINE pair load_pair(const real *x) {
    assume_global(x);
    return *(const pair *)x;
}

/* Writes a thread's four rows of two pairs. row, column: the first of the warp's 32 x 16 results. All elements of
 * `extra` are loaded before the first result is written. */
INLINE void write_results(const finish epilogue, int row, int column, int rows, int columns, const real sum[16],
                          const real *extra, real *out, int stride) {
    const bool by_column = epilogue == FINISH_BIAS || epilogue == FINISH_BIAS_RELU,
               by_element = epilogue == FINISH_ADD || epilogue == FINISH_RELU_GRAD;
    pair add[8];
    row += lane_row();
    column += lane_column();
#pragma unroll
    for (int p = 0; p < 8; p++) {
        const int r = row + pair_row(p / 2), c = column + pair_column(p % 2);
        const pair none = {{0, 0}};
        add[p] = by_column && p >= 2 ? add[p % 2] : none;
        if (by_column && p < 2 && extra && c < columns) add[p] = load_pair(extra + c);
        if (by_element && extra && r < rows && c < columns) add[p] = load_pair(extra + (r * stride + c));
    }
#pragma unroll
    for (int p = 0; p < 8; p++) {
        const int r = row + pair_row(p / 2), c = column + pair_column(p % 2);
        real *destination =
            out +
            (epilogue == FINISH_BY_HEAD ? (c / HEAD_WIDTH * stride + r) * HEAD_WIDTH + c % HEAD_WIDTH : r * stride + c);
        pair z;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const real x = sum[pair_sum(p / 2, p % 2) + i];
            if (epilogue == FINISH_RELU_GRAD) z.v[i] = add[p].v[i] > 0 ? x : 0;
            else z.v[i] = by_column || by_element ? x + add[p].v[i] : x;
            if (epilogue == FINISH_BIAS_RELU) z.v[i] = z.v[i] > 0 ? z.v[i] : 0;
        }
        if (r < rows && c < columns) *(pair *)destination = z;
    }
}

/* `product` in tiles of `height` by `width` slabs. A warp computes 32 rows and 16 * height columns. If `width` is 2,
 * all warps compute the same rows, so only the first FLAT_ROWS rows of a tile have results. */
INLINE void product_tiles(const int height, const int width, int rows, int columns, int K, const order along_a,
                          const real *a, int stride_a, const order along_b, const real *b, int stride_b,
                          const finish epilogue, const real *extra, real *out, int stride) {
    const int warp = threadIdx.x / WARP, warps_per_row = 4 * width / height;
    const int warp_row = warp / warps_per_row * 32, warp_column = warp % warps_per_row * 16 * height;
    const int offset_a = warp_row / TILE * STAGE + warp_row % TILE;
    const int offset_b = (height + warp_column / TILE) * STAGE + warp_column % TILE;
    staged *slabs = (staged *)staging();
    quad part_a[TALLEST][2], part_b[TALLEST][2];
    int buffer = 0, row = 0, column = 0;
#pragma unroll
    for (int u = 0; u < height; u++) fetch(along_a, a, stride_a, 0, u * TILE, K, rows, part_a[u]);
#pragma unroll
    for (int u = 0; u < width; u++) fetch(along_b, b, stride_b, 0, u * TILE, K, columns, part_b[u]);
    while (row < rows) {
        int next_row = row, next_column = column + width * TILE;
        if (next_column >= columns) next_column = 0, next_row += height * TILE;
        const bool has_results = row + warp_row < rows && column + warp_column < columns;
        real sum[16 * TALLEST];
#pragma unroll
        for (int i = 0; i < 16 * height; i++) sum[i] = 0;
        for (int k = 0; k < K; k += SLAB) {
#pragma unroll
            for (int u = 0; u < height; u++) stage(along_a, part_a[u], slabs + buffer + u * STAGE);
#pragma unroll
            for (int u = 0; u < width; u++) stage(along_b, part_b[u], slabs + buffer + (height + u) * STAGE);
            __syncthreads();
            const bool in_tile = k + SLAB < K; /* whether the next slabs belong to the same tile */
            if (in_tile || next_row < rows) {
                const int next_k = in_tile ? k + SLAB : 0, r = in_tile ? row : next_row,
                          c = in_tile ? column : next_column;
#pragma unroll
                for (int u = 0; u < height; u++) fetch(along_a, a, stride_a, next_k, r + u * TILE, K, rows, part_a[u]);
#pragma unroll
                for (int u = 0; u < width; u++)
                    fetch(along_b, b, stride_b, next_k, c + u * TILE, K, columns, part_b[u]);
            }
            if (has_results) multiply(height, K - k, slabs, buffer + offset_a, buffer + offset_b, sum);
            buffer = BUFFER - buffer;
        }
        if (has_results) {
#pragma unroll
            for (int u = 0; u < height; u++)
                write_results(epilogue, row + warp_row, column + warp_column + 16 * u, rows, columns, sum + 16 * u,
                              extra, out, stride);
        }
        row = next_row;
        column = next_column;
    }
    __syncthreads();
}

/* out[row][column] = the sum over k < K of a(k, row) * b(k, column), changed by the epilogue; the rows of `out` are
 * `stride` elements apart. All threads of the block call this function; when it returns, all may read the results. */
INLINE void product(int rows, int columns, int K, const order along_a, const real *a, int stride_a, const order along_b,
                    const real *b, int stride_b, const finish epilogue, const real *extra, real *out, int stride) {
    assume_global(a);
    assume_global(b);
    assume_global(out);
    if (TALLEST > 1 && rows > SHORT_ROWS)
        product_tiles(2, 1, rows, columns, K, along_a, a, stride_a, along_b, b, stride_b, epilogue, extra, out, stride);
    else if (TALLEST > 1 && rows <= FLAT_ROWS && columns > TILE)
        product_tiles(1, 2, rows, columns, K, along_a, a, stride_a, along_b, b, stride_b, epilogue, extra, out, stride);
    else
        product_tiles(1, 1, rows, columns, K, along_a, a, stride_a, along_b, b, stride_b, epilogue, extra, out, stride);
}
