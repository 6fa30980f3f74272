/* Two products in a chain, divided among warps: rows times weights give hidden channels, an operation changes each
 * hidden value, and the hidden values times other weights give the result. A warp computes 24 x 32 hidden values
 * (product_sized.cu) and writes them to shared memory. Then each warp multiplies some groups of hidden channels with
 * the weights of 32 columns of the result. Warps with the same columns add their sums in a fixed order, through shared
 * memory. So the bits of a row do not depend on the number of rows. Sizes are constants after inlining, multiples of
 * 16. Reference: lh_ref_matmul. */

enum {
    CHAIN_CHANNELS = WARPS * TILE,              /* hidden channels that the warps compute at a time */
    HIDDEN_VALUES = PART_ROWS * CHAIN_CHANNELS, /* hidden values in shared memory */
    CHAIN_STAGING = 2 * HIDDEN_VALUES           /* reals of shared memory: two operands, or one operand and the sums */
};
static_assert(WARPS * PART_ROWS * TILE <= (int)HIDDEN_VALUES && (int)CHAIN_STAGING >= (int)STAGING, "sums fit");

/* Initialises a warp's sums with the bias of the columns from `channel` on, or with 0. */
INLINE void begin_sums(const bool biased, const real *bias, int channel, const int channels, real sum[PART_TILES][4]) {
    quad add = {{0, 0, 0, 0}};
    if (biased) add = *(const quad *)(bias + weight_column(channel, channels));
#pragma unroll
    for (int i = 0; i < 4 * PART_TILES; i++) sum[i / 4][i % 4] = add.v[i / 4 / ROW_GROUPS * 2 + i % 4 / 2];
}

/* Whether the matrix of hidden values contains a row and the lane's columns. */
INLINE bool has_hidden(int row, int rows, int channel, const int channels) {
    return row < rows && (channels % TILE == 0 || channel + quad_column() < channels);
}

/* Stores a warp's values in the part of x[rows][channels] that begins at `row` and `channel`; rows are `stride`
 * elements apart. */
INLINE void store_hidden(const real value[PART_TILES][4], int row, int rows, int channel, const int channels,
                         const int stride, real *x) {
    assume_global(x);
    row += result_row();
    x += row * stride + channel + quad_column();
#pragma unroll
    for (int i = 0; i < 2 * ROW_GROUPS; i++) {
        const int below = i / 2 * 8 + i % 2; /* distance of row i from the lane's first row */
        if (has_hidden(row + below, rows, channel, channels))
            *(quad *)(x + below * stride) = result_quad(value, i / 2, i % 2);
    }
}

/* Loads a warp's part of x[rows][channels], from `row` and `channel` on. In place of missing rows or columns, lanes
 * read the last ones; results of missing rows and columns are not written. */
INLINE void load_hidden(const real *x, int row, int rows, int channel, const int channels, const int stride,
                        real value[PART_TILES][4]) {
    assume_global(x);
    x += weight_column(channel, channels);
#pragma unroll
    for (int i = 0; i < 2 * ROW_GROUPS; i++) {
        const int j = i / 2, e = i % 2;
        const quad z = *(const quad *)get_row(x, min(row + result_row() + j * 8 + e, rows - 1), stride);
#pragma unroll
        for (int c = 0; c < 4; c++) value[c / 2 * ROW_GROUPS + j][c % 2 * 2 + e] = z.v[c];
    }
}

/* load_hidden for values that store_pair has stored along ROWS, in blocks of two rows and two columns. */
INLINE void load_blocks(const real *x, int row, int rows, int channel, const int channels, const int stride,
                        real value[PART_TILES][4]) {
    assume_global(x);
    x += 2 * weight_column(channel, channels);
#pragma unroll
    for (int j = 0; j < ROW_GROUPS; j++) {
        const real *pair = get_row(x, min(row + result_row() + j * 8, (rows - 1) / 2 * 2), stride);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const quad z = *(const quad *)(pair + half * 4);
#pragma unroll
            for (int i = 0; i < 4; i++) value[half * ROW_GROUPS + j][i % 2 * 2 + i / 2] = z.v[i];
        }
    }
}

/* The index of quad q in a row: hidden_index for hidden values, chain_sums_index for a warp's sums. Quads are permuted,
 * so that the lanes of a warp use all banks. */
INLINE int hidden_index(int row, int q) { return row * CHAIN_CHANNELS + 4 * (q ^ (row & 6) ^ (row & 1) << 2); }
INLINE int chain_sums_index(int row, int q) { return row * TILE + 4 * (q ^ (row & 6)); }

/* Writes a warp's hidden values to shared memory, as the operand with index `operand` of the second product. stores:
 * also writes the values to x (store_pair), for the gradient of weights. */
INLINE void pass_hidden(const int operand, const bool stores, const order along, const real value[PART_TILES][4],
                        int row, int rows, int channel, const int channels, const int stride, real *x) {
    const int first = result_row(), q = warp_number() * (TILE / 4) + group_row();
    /* The index of the lane's quad in row `first`, an even row. In the next row, hidden_index inverts the bit GROUP. */
    const int place = operand * HIDDEN_VALUES + hidden_index(first, q);
    real *const places[2] = {staging() + place, staging() + (place ^ GROUP) + CHAIN_CHANNELS};
    x += (row + first) * stride + 2 * (channel + quad_column());
#pragma unroll
    for (int j = 0; j < ROW_GROUPS; j++) {
        stored_quad part[2];
        operand_word words[2][WORDS];
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const quad z = result_quad(value, j, e);
            stored_quad shared;
            part[e] = make_stored(z);
#pragma unroll
            for (int i = 0; i < WORDS; i++) words[e][i] = word(z.v[DEPTH * i], z.v[DEPTH * i + DEPTH - 1]);
#pragma unroll
            for (int c = 0; c < 4; c++) shared.v[c] = stored_element(part[e], words[e], c);
            *(stored_quad *)(places[e] + j * 8 * CHAIN_CHANNELS) = shared;
        }
        if (stores && has_hidden(row + first + j * 8, rows, channel, channels))
            store_pair(along, part, words, x + j * 8 * stride);
    }
}

/* Adds the products of hidden values in shared memory with the weights of 32 columns. The warp takes the groups of
 * channels with the indices share, share + shares, ... count: the number of operands in shared memory. Weights of
 * successive operands are `channels` apart along k. */
INLINE void multiply_hidden(const bool rounded, const int count, int share, const int shares, const order along,
                            const real *weight, const int stride, int first, const int channels, int column,
                            const int columns, real sum[PART_TILES][4]) {
    const real *weights = lane_weights(along, weight, stride, first + share * GROUP, weight_column(column, columns));
    const int lane_index = hidden_index(group_row(), share * (GROUP / 4) + (int)(threadIdx.x % 4));
#pragma unroll
    for (int i = 0; i < count * (CHAIN_CHANNELS / GROUP); i += shares) {
        const int operand = i / (CHAIN_CHANNELS / GROUP), group = i % (CHAIN_CHANNELS / GROUP);
        const int k = operand * channels + group * GROUP;
        const real *hidden =
            staging() + operand * HIDDEN_VALUES + (lane_index ^ group % 2 * GROUP) + group / 2 * 2 * GROUP;
        stored_quad part[4], x[ROW_GROUPS];
        operand_word words[4][WORDS], words_of_x[ROW_GROUPS][WORDS];
        if (channels % CHAIN_CHANNELS && first + (group + share) * GROUP >= channels) continue;
        load_weights(weights + (along == ROWS ? k * stride : k), stride, part);
#pragma unroll
        for (int j = 0; j < ROW_GROUPS; j++) x[j] = *(const stored_quad *)(hidden + j * 8 * CHAIN_CHANNELS);
        weight_words(rounded, along, part, words);
        row_words(true, x, words_of_x);
        multiply_rows(words, words_of_x, sum);
    }
}

/* Adds a section of hidden channels to the second product of the rows from `row` on. A section has CHAIN_CHANNELS
 * channels, from channel `first` on. The call for the last section applies the epilogue and writes out[rows][columns].
 * total: a thread's quads of the sums over earlier sections. All threads of the block call this function; when it
 * returns, all may read the results. */
INLINE void chain_products(const bool rounded, int row, int rows, const int count, int first, const int channels,
                           const order along, const real *weight, const int stride, const finish epilogue,
                           const real *extra, const int columns, real *out, quad *total) {
    /* The result has `parts` parts of TILE columns; `shares` warps work on the same part. */
    const int parts = (columns + TILE - 1) / TILE, shares = parts == 1   ? WARPS
                                                            : parts == 2 ? WARPS / 2
                                                            : parts <= 4 ? 2
                                                                         : 1;
    const unsigned int quads = parts * (TILE / 4), /* quads of a row */
        step = THREADS / quads;                    /* rows that all threads process at a time */
    const int part = warp_number() / shares, q = (int)(threadIdx.x % quads), c = 4 * q, part_of_quad = q / (TILE / 4);
    real *shared_sums = staging() + (count == 1 ? HIDDEN_VALUES : 0);
    real sum[PART_TILES][4] = {};
    __syncthreads();
    if (part < parts)
        multiply_hidden(rounded, count, warp_number() % shares, shares, along, weight, stride, first, channels,
                        part * TILE, columns, sum);
    if (count > 1) __syncthreads(); /* the sums overwrite the operands in shared memory */
    if (part < parts) {
        real *warp_sums = shared_sums + warp_number() * PART_ROWS * TILE + chain_sums_index(result_row(), group_row());
#pragma unroll
        for (int i = 0; i < 2 * ROW_GROUPS; i++)
            *(quad *)(warp_sums + (i / 2 * 8 + i % 2) * TILE) = result_quad(sum, i / 2, i % 2);
    }
    __syncthreads();
    const int first_row = (int)(threadIdx.x / quads), first_index = chain_sums_index(first_row, q % (TILE / 4));
#pragma unroll
    for (int u = 0; u * step < PART_ROWS; u++) {
        const int below = first_row + u * (int)step; /* distance of the quad from `row`, in rows */
        if (below >= PART_ROWS || row + below >= rows || c >= columns) continue;
        if (THREADS % quads && threadIdx.x >= step * quads) continue;
        const int index = step % 8 ? chain_sums_index(below, q % (TILE / 4)) : first_index + u * (int)step * TILE;
        const real *sums = shared_sums + part_of_quad * shares * PART_ROWS * TILE + index;
#pragma unroll
        for (int i = 0; i < shares; i++) {
            const quad summand = *(const quad *)(sums + i * PART_ROWS * TILE);
#pragma unroll
            for (int e = 0; e < 4; e++)
                total[u].v[e] = channels <= CHAIN_CHANNELS && i == 0 ? summand.v[e] : total[u].v[e] + summand.v[e];
        }
        if (first + CHAIN_CHANNELS < channels) continue;
        const quad add = fetch_extra(epilogue, row + below, c, extra, columns);
        write_quad(unrounded(epilogue), row + below, c, finish_quad(epilogue, total[u], add), out, columns);
    }
    __syncthreads();
}
