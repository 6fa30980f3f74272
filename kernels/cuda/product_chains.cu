/* Two products in a chain, divided among warps: rows times weights give hidden channels, an operation changes each
 * hidden value, and the hidden values times other weights give the result. A warp computes 32 x 32 hidden values in
 * fragments (product_warps.cu). These fragments are an operand of the second product without rearrangement: a lane has
 * four consecutive channels, twice, of each of its rows, which is a lane's part of two groups of k. A warp's second
 * product over its 32 hidden channels is a partial sum. The partial sums of the block's warps are exchanged through
 * shared memory and added in the order of channels, so the bits of a row do not depend on the number of rows. Sizes are
 * constants after inlining. Reference: lh_ref_matmul. */

enum {
    CHAIN_PARTS = (int)WIDTH > (int)TILE ? 2 : 1,      /* parts of 32 columns whose sums are exchanged at a time */
    CHAIN_STAGING = CHAIN_PARTS * WARPS * TILE * TILE, /* reals of shared memory */
    CHAIN_CHANNELS = WARPS * TILE                      /* hidden channels that the warps compute at a time */
};

/* Initialises a warp's sums with the bias of the columns from `channel` on, or with 0. */
INLINE void begin_sums(const real *bias, int channel, const int channels, real sum[2][4][4]) {
    quad add[2] = {{{0, 0, 0, 0}}, {{0, 0, 0, 0}}};
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int c = channel + lane_quad() + half * (TILE / 2);
        if (bias) add[half] = *(const quad *)(bias + (channels % TILE ? min(c, channels - 4) : c));
    }
#pragma unroll
    for (int i = 0; i < 32; i++) sum[i / 16][i / 4 % 4][i % 4] = add[i % 2].v[i / 4 % 4];
}

/* Whether the matrix of hidden values contains a lane's quad: row e, first or second half. */
INLINE bool has_hidden(int row, int rows, int channel, const int channels, const int e, const int half) {
    return row + lane_row() + e < rows &&
           (channels % TILE == 0 || channel + lane_quad() + half * (TILE / 2) < channels);
}

/* Stores a warp's values of x[rows][channels], rows `stride` apart. */
INLINE void store_hidden(const real value[2][4][4], int row, int rows, int channel, const int channels,
                         const int stride, real *x) {
    is_global(x);
    x += (row + lane_row()) * stride + channel + lane_quad();
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (has_hidden(row, rows, channel, channels, i / 2, i % 2))
            *(quad *)(x + i / 2 * stride + i % 2 * (TILE / 2)) = results(value, i / 2, i % 2);
}

/* Loads a warp's values of x[rows][channels] into value; 0 outside of the matrix. */
INLINE void load_hidden(const real *x, int row, int rows, int channel, const int channels, const int stride,
                        real value[2][4][4]) {
    is_global(x);
    x += (row + lane_row()) * stride + channel + lane_quad();
#pragma unroll
    for (int i = 0; i < 8; i++) {
        quad z = {{0, 0, 0, 0}};
        if (has_hidden(row, rows, channel, channels, i / 2, i % 2))
            z = *(const quad *)(x + i / 2 * stride + i % 2 * (TILE / 2));
#pragma unroll
        for (int j = 0; j < 4; j++) value[i / 4][j][i / 2 % 2 * 2 + i % 2] = z.v[j];
    }
}

/* As load_hidden, of values that are stored as inputs of a product in blocks (store_blocks). In place of missing quads
 * it reads the last ones: results that depend on them are not written. */
INLINE void load_blocks(const real *x, int row, int rows, int channel, const int channels, const int stride,
                        real value[2][4][4]) {
    is_global(x);
    const int first = channel + lane_quad(), last_pair = (rows - 1) / 2 * 2;
#pragma unroll
    for (int i = 0; i < 8; i++) { /* block i % 2 of rows e and e + 1, in a half of the columns */
        const int e = i / 4 * 2, half = i / 2 % 2, c = first + half * (TILE / 2);
        const real *pair = row_of(x + 2 * first, min(row + lane_row() + e, last_pair), stride);
        const int behind = channels % TILE ? min(c, channels - 4) - first : half * (TILE / 2);
        const quad z = *(const quad *)(pair + 2 * behind + i % 2 * 4);
#pragma unroll
        for (int j = 0; j < 4; j++) value[e / 2][i % 2 * 2 + j % 2][j / 2 * 2 + half] = z.v[j];
    }
}

/* Converts hidden values to an operand, two groups of k; channels outside of the matrix are 0. */
INLINE void hidden_words(const real sum[2][4][4], int channel, const int channels, operand_word words[2][4][WORDS]) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        quad part[4];
#pragma unroll
        for (int e = 0; e < 4; e++) part[e] = results(sum, e, half);
        if (channels % TILE) clear_rest(COLUMNS, channel + half * GROUP, channels, part);
        make_words(COLUMNS, part, words[half]);
    }
}

/* Stores hidden values, given their words, as an operand of a gradient of weights in blocks (store_blocks). */
INLINE void store_words(const order along, const real sum[2][4][4], const operand_word words[2][4][WORDS], int row,
                        int rows, int channel, const int channels, const int stride, real *x) {
    x += (row + lane_row()) * stride + 2 * (channel + lane_quad());
#pragma unroll
    for (int half = 0; half < 2; half++) {
        stored_quad part[4];
#pragma unroll
        for (int e = 0; e < 4; e++) part[e] = stored_from(results(sum, e, half));
        if (channels % TILE == 0 || channel + lane_quad() + half * GROUP < channels)
            store_blocks(along, part, words[half], rows - row - lane_row(), stride, x + half * TILE);
    }
}

/* Writes the products of a warp's hidden values with the weights of 32 columns to shared memory. count: number of
 * operands; the weights of each operand lie `channels` further along k than those of the operand before. */
INLINE void share_products(const bool rounded, const int count, const operand_word hidden[][2][4][WORDS],
                           const order along, const real *weight, const int stride, int channel, const int channels,
                           int column, const int columns, real *sums) {
    real sum[2][4][4];
#pragma unroll
    for (int i = 0; i < 32; i++) sum[i / 16][i / 4 % 4][i % 4] = 0;
#pragma unroll
    for (int i = 0; i < 2 * count; i++) {
        const real *operand_weight = weight + i / 2 * channels * (along == ROWS ? stride : 1);
        stored_quad part[4];
        operand_word words[4][WORDS];
        fetch_weights(along, operand_weight, stride, channel + i % 2 * GROUP, column + lane_column(), channels, columns,
                      part);
        stored_words(rounded, along, part, words);
        multiply_group(hidden[i / 2][i % 2], words, sum);
    }
    share_part(sum, sums);
}

/* Adds the warps' sums in shared memory to a thread's quad, in the order of channels. begins: there are no earlier
 * channels. */
INLINE void add_shares(const real *sums, int shares, const bool begins, quad *total) {
#pragma unroll
    for (int i = 0; i < WARPS; i++) {
        if (i >= shares) break;
        const quad summand = *(const quad *)(sums + i * TILE * TILE);
#pragma unroll
        for (int c = 0; c < 4; c++) total->v[c] = begins && i == 0 ? summand.v[c] : total->v[c] + summand.v[c];
    }
}

/* The second product of the rows from `row` on, over the block's channels from `first` on; after the last channels,
 * writes the finished results, out[rows][columns]. total: a thread's quad of each part of 32 columns, the sums over
 * earlier channels. All threads of the block call this function; when it returns, all may read the results. */
INLINE void chain_products(const bool rounded, int row, int rows, const int count,
                           const operand_word hidden[][2][4][WORDS], int first, const int channels, const order along,
                           const real *weight, const int stride, const finish epilogue, const real *extra,
                           const int columns, real *out, quad *total) {
    const int warp = warp_number(), channel = first + warp * TILE;
    const int shares = min(WARPS, (channels - first + TILE - 1) / TILE);
    const int r = row + shared_row(), c = 4 * shared_quad();
    const real *sums = staging() + in_sums(shared_row(), shared_quad());
#pragma unroll
    for (int column = 0; column < columns; column += CHAIN_PARTS * TILE) {
#pragma unroll
        for (int u = 0; u < CHAIN_PARTS; u++)
            if (channel < channels && column + u * TILE < columns)
                share_products(rounded, count, hidden, along, weight, stride, channel, channels, column + u * TILE,
                               columns, staging() + (u * WARPS + warp) * TILE * TILE);
        __syncthreads();
#pragma unroll
        for (int u = 0; u < CHAIN_PARTS; u++) {
            const int part_column = column + u * TILE;
            if (part_column >= columns) break;
            quad *z = total + part_column / TILE;
            add_shares(sums + u * WARPS * TILE * TILE, shares, channels <= CHAIN_CHANNELS, z);
            if (first + CHAIN_CHANNELS < channels || r >= rows || part_column + c >= columns) continue;
            const quad add = fetch_extra(epilogue, r, part_column + c, extra, columns);
            write_quad(unrounded(epilogue), r, part_column + c, finish_quad(epilogue, *z, add), out, columns);
        }
        __syncthreads();
    }
}
