/* Products of matrices in global memory by one block, tile by tile; the next slab is on its way while one is
 * multiplied. The order of sums is that of k, whatever the number of rows. Reference: lh_ref_matmul. */

enum { STAGE = SLAB * SLAB_STRIDE, STAGING = 4 * STAGE /* reals of shared memory: two slabs of each operand */ };

/* An operand of a product over k, element (k, m). Rows: k is the row in memory, m runs along it. Columns: m is the row,
 * k runs along it. Strides in elements, multiples of 4. */
typedef enum order { ROWS, COLUMNS } order;

/* What becomes of a result before it is written. */
typedef enum finish {
    FINISH_STORE,
    FINISH_BIAS,      /* + extra[column] */
    FINISH_BIAS_RELU, /* largest of 0 and that */
    FINISH_ADD,       /* + extra[row][column] */
    FINISH_RELU_GRAD, /* 0 where extra[row][column] is not above 0 */
    FINISH_BY_HEAD    /* written as [head][row][channel] */
} finish;

/* A thread's part of a slab, on the way from global memory; what lies beyond K or M is 0. */
INLINE void fetch(const order along, const real *x, int stride, int k, int m, int K, int M, quad part[2]) {
#pragma unroll
    for (int u = 0; u < 2; u++) {
        int row = along == ROWS ? k + (int)threadIdx.x / 16 * 2 + u : k + ((int)threadIdx.x / TILE + u * 4) * 4;
        int column = along == ROWS ? m + (int)threadIdx.x % 16 * 4 : m + (int)threadIdx.x % TILE;
        const quad none = {{0, 0, 0, 0}};
        part[u] = none;
        if (row < K && column < M)
            part[u] = *(const quad *)(along == ROWS ? x + row * stride + column : x + column * stride + row);
    }
}

INLINE void stage(const order along, const quad part[2], staged *slab) {
    if (along == ROWS) {
        stage_rows(slab + threadIdx.x / 16 * 2 / DEPTH * SLAB_STRIDE + threadIdx.x % 16 * 4, part[0], part[1]);
    } else {
#pragma unroll
        for (int u = 0; u < 2; u++)
            stage_column(slab + (threadIdx.x / TILE + u * 4) * 4 / DEPTH * SLAB_STRIDE + threadIdx.x % TILE, part[u]);
    }
}

/* Two neighbours in a row. */
typedef struct __align__(2 * sizeof(real)) pair {
    real v[2];
}
pair;

INLINE void finish_pair(const finish how, int row, int column, int rows, int columns, real x, real y, const real *extra,
                        real *out, int stride) {
    if (row >= rows || column >= columns) return;
    real *to = how == FINISH_BY_HEAD ? out + (column / HEAD_WIDTH * rows + row) * HEAD_WIDTH + column % HEAD_WIDTH
                                     : out + row * stride + column;
    pair z = {{x, y}}, e = {{0, 0}};
    if (how == FINISH_BIAS || how == FINISH_BIAS_RELU) e = *(const pair *)(extra + column);
    if (how == FINISH_ADD || how == FINISH_RELU_GRAD) e = *(const pair *)(extra + row * stride + column);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        if (how == FINISH_RELU_GRAD) z.v[i] = e.v[i] > 0 ? z.v[i] : 0;
        else if (how != FINISH_STORE && how != FINISH_BY_HEAD) z.v[i] += e.v[i];
        if (how == FINISH_BIAS_RELU) z.v[i] = z.v[i] > 0 ? z.v[i] : 0;
    }
    *(pair *)to = z;
}

/* out[rows][columns], `stride` apart, = the finished sums over K. All threads of the block call it; on return all may
 * read what it wrote. */
INLINE void product(int rows, int columns, int K, const order along_a, const real *a, int stride_a, const order along_b,
                    const real *b, int stride_b, const finish how, const real *extra, real *out, int stride) {
    staged *slab_a = (staged *)staging(), *slab_b = slab_a + 2 * STAGE;
    is_global(a);
    is_global(b);
    is_global(out);
    const int slabs = (K + SLAB - 1) / SLAB;
    quad part_a[2], part_b[2];
    int at = 0, row = 0, column = 0;
    if (slabs > 0) {
        fetch(along_a, a, stride_a, 0, 0, K, rows, part_a);
        fetch(along_b, b, stride_b, 0, 0, K, columns, part_b);
    }
    while (row < rows) {
        int next_row = row, next_column = column + TILE;
        if (next_column >= columns) next_column = 0, next_row += TILE;
        real sum[16];
#pragma unroll
        for (int i = 0; i < 16; i++) sum[i] = 0;
        for (int slab = 0; slab < slabs; slab++) {
            stage(along_a, part_a, slab_a + at);
            stage(along_b, part_b, slab_b + at);
            __syncthreads();
            const bool same = slab + 1 < slabs;
            if (same || next_row < rows) {
                fetch(along_a, a, stride_a, same ? (slab + 1) * SLAB : 0, same ? row : next_row, K, rows, part_a);
                fetch(along_b, b, stride_b, same ? (slab + 1) * SLAB : 0, same ? column : next_column, K, columns,
                      part_b);
            }
            multiply(slab_a + at, slab_b + at, sum);
            at = STAGE - at;
        }
#pragma unroll
        for (int p = 0; p < 8; p++)
            finish_pair(how, row + pair_row(p), column + pair_column(p), rows, columns, sum[2 * p], sum[2 * p + 1],
                        extra, out, stride);
        row = next_row;
        column = next_column;
    }
    __syncthreads();
}
