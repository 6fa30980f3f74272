/* Products of matrices in global memory by one block, divided among warps. A warp computes 32 x 32 results from
 * fragments that it loads directly from global memory in quads; the next fragments are prefetched into registers
 * while it multiplies. Operands are not staged in shared memory, and a warp waits for no other until the end. If the
 * result of `product` is narrow and `a` has the order COLUMNS, several warps share a part of the result. Each warp has
 * some groups of k, and the warps' sums are added in shared memory. The order of additions does not depend on the
 * number of rows. Reference: lh_ref_matmul.
 *
 * Lane 4 g + t has rows 4 g + e of a part and columns 4 t + i and 16 + 4 t + i, for e and i below 4. So a lane loads
 * and stores quads: its rows of one tensor instruction are adjacent in the matrix, as are its elements along k. Both
 * operands use the same order of k. */

enum {
    TILE = 32,                    /* rows and columns of a part, the results that a warp computes at a time */
    GROUP = 16,                   /* elements along k in a group, which a warp loads at a time */
    WORDS = 4 / DEPTH,            /* words of a lane's four elements along k in a group */
    NARROW = 64,                  /* largest number of columns of a narrow result */
    SHARES = 4,                   /* number of warps that share a part */
    STAGING = WARPS * TILE * TILE /* reals of shared memory */
};

/* lane_row: the first of a lane's rows. lane_column: the first of the columns that the lane loads. */
INLINE int lane_row(void) { return (int)(threadIdx.x % WARP / 4 * 4); }
INLINE int lane_column(void) { return (int)(threadIdx.x % WARP / 8 * 4 + threadIdx.x / 4 % 2 * (TILE / 2)); }

/* The first of a lane's four k in a group, and the first of its columns in a quad of results. */
INLINE int lane_quad(void) { return threadIdx.x % 4 * 4; }

/* The index of the warp in the block. The remainder tells the compiler that the index is below WARPS. */
INLINE int warp_number(void) { return (int)(threadIdx.x / WARP % WARPS); }

/* The block's threads share a part of 32 x 32, one quad for each thread. shared_row: the row of the thread's quad;
 * shared_quad: the index of the quad in the row. */
INLINE int shared_row(void) { return (int)(threadIdx.x / 8); }
INLINE int shared_quad(void) { return (int)(threadIdx.x % 8); }

/* Prefetches a lane's quads of a group, from k and m on. In place of elements beyond K or M, the lane reads the last
 * elements. Beyond K, clear_rest sets one operand to 0; results beyond M are not written. */
INLINE void fetch(const order along, const real *x, int stride, int k, int m, int K, int M, quad part[4]) {
    k += lane_quad();
#pragma unroll
    for (int i = 0; i < 4; i++)
        part[i] = *(const quad *)(x + (along == ROWS ? min(k + i, K - 1) * stride + min(m, M - 4)
                                                     : min(m + i, M - 1) * stride + min(k, K - 4)));
}

/* Sets elements beyond K to 0. */
INLINE void clear_rest(const order along, int k, int K, quad part[4]) {
    k += lane_quad();
#pragma unroll
    for (int i = 0; i < 16; i++)
        if (k + (along == ROWS ? i / 4 : i % 4) >= K) part[i / 4].v[i % 4] = 0;
}

/* Packs the words of a lane's four rows or columns: the four elements along k of each, DEPTH elements to a word. */
INLINE void make_words(const order along, const quad part[4], operand_word words[4][WORDS]) {
#pragma unroll
    for (int i = 0; i < 4 * WORDS; i++) {
        const int m = i / WORDS, k = DEPTH * (i % WORDS);
        words[m][i % WORDS] =
            along == ROWS ? word(part[k].v[m], part[k + DEPTH - 1].v[m]) : word(part[m].v[k], part[m].v[k + DEPTH - 1]);
    }
}

/* Adds the products of the words i and i + 1 of all rows and columns to sum, which has [2][4] tiles of 16 x 8
 * results. */
INLINE void multiply_words(const int i, const operand_word a[4][WORDS], const operand_word b[4][WORDS],
                           real sum[2][4][4]) {
#pragma unroll
    for (int row = 0; row < 2; row++) {
        const operand_word x[4] = {a[2 * row][i], a[2 * row + 1][i], a[2 * row][i + 1], a[2 * row + 1][i + 1]};
#pragma unroll
        for (int column = 0; column < 4; column++) {
            const operand_word y[2] = {b[column][i], b[column][i + 1]};
            multiply_step(x, y, sum[row][column]);
        }
    }
}

/* Adds the products of all words of a group. */
INLINE void multiply_group(const operand_word a[4][WORDS], const operand_word b[4][WORDS], real sum[2][4][4]) {
#pragma unroll
    for (int i = 0; i < WORDS; i += 2) multiply_words(i, a, b, sum);
}

/* Stores a lane's two rows of four columns for a gradient of weights, in two blocks of 2 x 2 elements, from `to` on.
 *   along ROWS       inputs; a block is stored row by row
 *   along COLUMNS    gradients of outputs; a block is stored column by column */
INLINE void store_pair(const order along, const stored_quad part[2], const operand_word words[2][WORDS], real *to) {
    assume_global(to);
#pragma unroll
    for (int block = 0; block < 2; block++) {
        stored_quad x;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int e = along == ROWS ? i / 2 : i % 2, c = block * 2 + (along == ROWS ? i % 2 : i / 2);
            x.v[i] = stored_element(part[e], words[e], c);
        }
        *(stored_quad *)(to + block * 4) = x;
    }
}

/* A lane's quad of results in row e: its first (half 0) or second quad of columns. */
INLINE quad results(const real sum[2][4][4], const int e, const int half) {
    quad z;
#pragma unroll
    for (int i = 0; i < 4; i++) z.v[i] = sum[e / 2][i][e % 2 * 2 + half];
    return z;
}

/* The changes of a result before it is written: the epilogue, then the multiplication by `scale`, then the rounding. */
typedef struct result_form {
    finish epilogue;
    bool rounds; /* rounds results as operands of products, after the other changes */
    int scaled;  /* columns below this index are multiplied by `scale` */
    real scale;
} result_form;

INLINE result_form unrounded(const finish epilogue) { return {epilogue, false, 0, 1}; }

/* Returns the quad of `extra` that the epilogue reads, or 0 if there is none. */
INLINE quad fetch_extra(const finish epilogue, int row, int column, const real *extra, int stride) {
    const bool by_column = epilogue == FINISH_BIAS || epilogue == FINISH_BIAS_RELU,
               by_element = epilogue == FINISH_ADD || epilogue == FINISH_RELU_GRAD;
    quad add = {{0, 0, 0, 0}};
    if (by_column && extra) add = *(const quad *)(extra + column);
    if (by_element && extra) add = *(const quad *)(extra + row * stride + column);
    return add;
}

INLINE quad finish_quad(const finish epilogue, quad z, const quad add) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (epilogue == FINISH_RELU_GRAD) z.v[i] = add.v[i] > 0 ? z.v[i] : 0;
        else if (epilogue != FINISH_STORE && epilogue != FINISH_BY_HEAD) z.v[i] += add.v[i];
        if (epilogue == FINISH_BIAS_RELU) z.v[i] = z.v[i] > 0 ? z.v[i] : 0;
    }
    return z;
}

/* Multiplies a quad by form.scale if its columns are below form.scaled. */
INLINE void scale_quad(const result_form form, int column, quad *z) {
    const real factor = column < form.scaled ? form.scale : 1;
#pragma unroll
    for (int i = 0; i < 4; i++) z->v[i] *= factor;
}

INLINE void write_quad(const result_form form, int row, int column, quad z, real *out, int stride) {
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (form.rounds) z.v[i] = rounded_real(z.v[i]);
    *(quad *)(out + (form.epilogue == FINISH_BY_HEAD
                         ? (column / HEAD_WIDTH * stride + row) * HEAD_WIDTH + column % HEAD_WIDTH
                         : row * stride + column)) = z;
}

/* Writes a lane's results of the part that begins at row and column. All elements of `extra` are loaded before the
 * first result is written. */
INLINE void write_part(const finish epilogue, int row, int column, int rows, int columns, const real sum[2][4][4],
                       const real *extra, real *out, int stride) {
    const bool by_element = epilogue == FINISH_ADD || epilogue == FINISH_RELU_GRAD;
    quad add[8];
    row += lane_row();
    column += lane_quad();
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int c = column + i % 2 * (TILE / 2);
        if (!by_element && i >= 2) add[i] = add[i % 2];
        else if (row + i / 2 < rows && c < columns) add[i] = fetch_extra(epilogue, row + i / 2, c, extra, stride);
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int r = row + i / 2, c = column + i % 2 * (TILE / 2);
        const quad z = finish_quad(epilogue, results(sum, i / 2, i % 2), add[i]);
        if (r < rows && c < columns) write_quad(unrounded(epilogue), r, c, z, out, stride);
    }
}

/* The offset of quad q of a row in a warp's sums. Quads are permuted, so that lanes use all banks. */
INLINE int sums_index(int row, int q) { return row * TILE + 4 * (q ^ (row & 4)); }

/* Writes a warp's sums to shared memory. */
INLINE void share_part(const real sum[2][4][4], real *sums) {
    const int first = sums_index(lane_row(), (int)(threadIdx.x % 4));
#pragma unroll
    for (int i = 0; i < 8; i++)
        *(quad *)(sums + (first ^ i % 2 * (TILE / 2)) + i / 2 * TILE) = results(sum, i / 2, i % 2);
}

/* Adds the sums of SHARES warps for each part, in the order of warps, and writes WARPS / SHARES parts. first: the index
 * of the first part. */
INLINE void write_shared_parts(const finish epilogue, int first, int parts_per_row, int parts, int rows, int columns,
                               const real *extra, real *out, int stride) {
#pragma unroll
    for (int u = 0; u < WARPS / SHARES; u++) {
        const int part = first + u, row = part / parts_per_row * TILE + shared_row(),
                  column = part % parts_per_row * TILE + shared_quad() * 4;
        if (part >= parts || row >= rows || column >= columns) continue;
        const real *sums = staging() + u * SHARES * TILE * TILE + sums_index(shared_row(), shared_quad());
        const quad add = fetch_extra(epilogue, row, column, extra, stride);
        quad z = *(const quad *)sums;
#pragma unroll
        for (int i = 1; i < SHARES; i++) {
            const quad summand = *(const quad *)(sums + i * TILE * TILE);
#pragma unroll
            for (int c = 0; c < 4; c++) z.v[c] += summand.v[c];
        }
        write_quad(unrounded(epilogue), row, column, finish_quad(epilogue, z, add), out, stride);
    }
}

/* Adds the products of the warp's groups of k to the sums of a part. */
INLINE void add_groups(const int shares, int row, int rows, int column, int columns, int K, const order along_a,
                       const real *a, int stride_a, const order along_b, const real *b, int stride_b,
                       real sum[2][4][4]) {
    quad next_a[4], next_b[4];
    int k = (int)(threadIdx.x / WARP % shares * GROUP);
    if (k >= K) return;
    fetch(along_a, a, stride_a, k, row + lane_row(), K, rows, next_a);
    fetch(along_b, b, stride_b, k, column + lane_column(), K, columns, next_b);
#pragma unroll 1
    do {
        operand_word words_a[4][WORDS], words_b[4][WORDS];
        if (k + GROUP > K) clear_rest(along_a, k, K, next_a);
        make_words(along_a, next_a, words_a);
        make_words(along_b, next_b, words_b);
        k += shares * GROUP;
        if (k < K) {
            fetch(along_a, a, stride_a, k, row + lane_row(), K, rows, next_a);
            fetch(along_b, b, stride_b, k, column + lane_column(), K, columns, next_b);
        }
        multiply_group(words_a, words_b, sum);
    } while (k < K);
}

/* `product` with `shares` warps for each part; a warp takes every shares-th group of k. */
INLINE void product_parts(const int shares, int rows, int columns, int K, const order along_a, const real *a,
                          int stride_a, const order along_b, const real *b, int stride_b, const finish epilogue,
                          const real *extra, real *out, int stride) {
    const int warp = warp_number(), parts_per_row = (columns + TILE - 1) / TILE,
              parts = (int)((rows + TILE - 1u) / TILE) * parts_per_row;
#pragma unroll 1
    for (int first = 0; first < parts; first += WARPS / shares) {
        const int part = first + warp / shares, row = part / parts_per_row * TILE, column = part % parts_per_row * TILE;
        if (part < parts) {
            real sum[2][4][4] = {};
            add_groups(shares, row, rows, column, columns, K, along_a, a, stride_a, along_b, b, stride_b, sum);
            if (shares == 1) write_part(epilogue, row, column, rows, columns, sum, extra, out, stride);
            else share_part(sum, staging() + warp * TILE * TILE);
        }
        if (shares > 1) {
            __syncthreads();
            write_shared_parts(epilogue, first, parts_per_row, parts, rows, columns, extra, out, stride);
            __syncthreads();
        }
    }
    if (shares == 1) __syncthreads();
}

/* out[row][column] = the sum over k < K of a(k, row) * b(k, column), changed by the epilogue; the rows of `out` are
 * `stride` elements apart. All threads of the block call this function; when it returns, all may read the results. */
INLINE void product(int rows, int columns, int K, const order along_a, const real *a, int stride_a, const order along_b,
                    const real *b, int stride_b, const finish epilogue, const real *extra, real *out, int stride) {
    assume_global(a);
    assume_global(b);
    assume_global(out);
    if (columns <= NARROW && along_a == COLUMNS)
        product_parts(SHARES, rows, columns, K, along_a, a, stride_a, along_b, b, stride_b, epilogue, extra, out,
                      stride);
    else product_parts(1, rows, columns, K, along_a, a, stride_a, along_b, b, stride_b, epilogue, extra, out, stride);
}
