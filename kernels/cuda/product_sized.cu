/* Products of the rows of x with weights; K and the number of columns are constants after inlining, and multiples of
 * 16. A warp computes a part of 24 x 32 results: the rows of x are the columns of the tensor instruction, in three
 * groups of 8. Operands are loaded in quads of adjacent elements. Reference: lh_ref_matmul.
 *
 * Lane 4 g + t has these rows and columns, for j < 3, c < 4 and e < 2:
 *   x         rows 8 j + g
 *   weights   columns 4 g + c
 *   results   rows 8 j + 2 t + e, columns 4 g + c
 * Sums are an array of tiles of 16 x 8; tile 3 h + j has columns c = 2 h and 2 h + 1 of the rows of group j. */

enum {
    ROW_GROUPS = 3,                     /* groups of 8 rows in a part */
    PART_ROWS = 8 * ROW_GROUPS,         /* rows of a part; it has TILE columns */
    PART_TILES = TILE / 16 * ROW_GROUPS /* tiles of a part */
};

/* group_row: the lane's row in a group of x. result_row: its first row in a group of results. quad_column: its first
 * column. */
INLINE int group_row(void) { return (int)(threadIdx.x % WARP / 4); }
INLINE int result_row(void) { return (int)(threadIdx.x % 4 * 2); }
INLINE int quad_column(void) { return (int)(threadIdx.x % WARP / 4 * 4); }

/* The lane's first column in a part that begins at `column`. If the matrix ends before the lane's columns, the lane
 * uses the last four columns. */
INLINE int weight_column(int column, const int columns) {
    return columns % TILE ? min(column + quad_column(), columns - 4) : column + quad_column();
}

/* The address of the lane's first weight. column: the lane's first column; k: the start of a group of elements along
 * the inner dimension. */
INLINE const real *lane_weights(const order along, const real *weight, const int stride, int k, int column) {
    k += lane_quad();
    return weight + (along == ROWS ? k * stride + column : column * stride + k);
}

/* Loads the lane's 4 x 4 weights: four columns, and four k of each. `weight` points to the first weight. The weights of
 * a quad are adjacent in memory: in the order ROWS they belong to one k, otherwise to one column. */
INLINE void load_weights(const real *weight, const int stride, stored_quad part[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) part[i] = *(const stored_quad *)(weight + i * stride);
}

INLINE void weight_words(const bool rounded, const order along, const stored_quad part[4],
                         operand_word words[4][WORDS]) {
#pragma unroll
    for (int i = 0; i < 4 * WORDS; i++) {
        const int c = i / WORDS, k = DEPTH * (i % WORDS), last = k + DEPTH - 1;
        words[c][i % WORDS] = along == ROWS ? stored_word(rounded, part[k].v[c], part[last].v[c])
                                            : stored_word(rounded, part[c].v[k], part[c].v[last]);
    }
}

INLINE void row_words(const bool rounded, const stored_quad part[ROW_GROUPS], operand_word words[ROW_GROUPS][WORDS]) {
#pragma unroll
    for (int j = 0; j < ROW_GROUPS; j++) quad_words(rounded, part[j], words[j]);
}

/* Adds the products of one group of elements along k. */
INLINE void multiply_rows(const operand_word weights[4][WORDS], const operand_word x[ROW_GROUPS][WORDS],
                          real sum[PART_TILES][4]) {
#pragma unroll
    for (int i = 0; i < WORDS; i += 2) {
#pragma unroll
        for (int tile = 0; tile < PART_TILES; tile++) {
            const operand_word *first = weights[tile / ROW_GROUPS * 2], *second = weights[tile / ROW_GROUPS * 2 + 1],
                               *row = x[tile % ROW_GROUPS];
            const operand_word a[4] = {first[i], second[i], first[i + 1], second[i + 1]}, b[2] = {row[i], row[i + 1]};
            multiply_step(a, b, sum[tile]);
        }
    }
}

/* Stores a quad of a row as an operand of a gradient of weights (store_pair). Rows are stored in pairs, in blocks of
 * 2 x 2 elements. odd: whether the row is the second of its pair; to: the address of the pair's blocks that contain
 * the quad. */
INLINE void store_row(const order along, const stored_quad part, const operand_word words[WORDS], int odd, stored *to) {
    assume_global(to);
#pragma unroll
    for (int c = 0; c < 4; c++) {
        if (along == COLUMNS) to[c * 2 + odd] = stored_element(part, words, c);
        else if (c % 2 == 0) {
            const stored_couple x = {{stored_element(part, words, c), stored_element(part, words, c + 1)}};
            *(stored_couple *)(to + c * 2 + odd * 2) = x;
        }
    }
}

/* Adds the products of x[rows][K], from `row` on, with the weights of a warp's columns. x_rounded: x is already
 * rounded; rounded: the weights are already rounded. stores: the warps also write x to stored_x as an operand
 * (store_row); each warp writes some groups along k. */
INLINE void add_products(const bool x_rounded, const bool rounded, int row, int rows, const int K, const real *x,
                         const bool stores, real *stored_x, const order along, const real *weight, const int stride,
                         int column, const int columns, real sum[PART_TILES][4]) {
    const int odd = group_row() % 2, writers = (columns + TILE - 1) / TILE;
    const real *starts[ROW_GROUPS], *weights = lane_weights(along, weight, stride, 0, weight_column(column, columns));
    stored_quad next_x[ROW_GROUPS], next_weights[4];
#pragma unroll
    for (int j = 0; j < ROW_GROUPS; j++) {
        starts[j] = get_row(x + lane_quad(), min(row + 8 * j + group_row(), rows - 1), K);
        next_x[j] = *(const stored_quad *)starts[j];
    }
    load_weights(weights, stride, next_weights);
    stored *to = (stored *)stored_x + ((row + group_row() - odd) * K + 2 * lane_quad());
#pragma unroll 4
    for (int k = 0; k < K; k += GROUP) {
        operand_word words[4][WORDS], words_of_x[ROW_GROUPS][WORDS];
        row_words(x_rounded, next_x, words_of_x);
        weight_words(rounded, along, next_weights, words);
        if (stores && k / GROUP % writers == column / TILE) {
#pragma unroll
            for (int j = 0; j < ROW_GROUPS; j++)
                if (row + 8 * j + group_row() - odd < rows)
                    store_row(along, next_x[j], words_of_x[j], odd, to + 8 * j * K + 2 * k);
        }
        if (k + GROUP < K) {
#pragma unroll
            for (int j = 0; j < ROW_GROUPS; j++) next_x[j] = *(const stored_quad *)(starts[j] + k + GROUP);
            load_weights(weights + (along == ROWS ? (k + GROUP) * stride : k + GROUP), stride, next_weights);
        }
        multiply_rows(words, words_of_x, sum);
    }
}

/* A lane's quad of results in row e (0 or 1) of its two rows of group j. */
INLINE quad result_quad(const real sum[PART_TILES][4], const int j, const int e) {
    return {{sum[j][e], sum[j][2 + e], sum[ROW_GROUPS + j][e], sum[ROW_GROUPS + j][2 + e]}};
}

/* Writes a lane's results of the part that begins at row and column; columns below form.scaled are scaled. All
 * elements of `extra` are loaded before the first result is written. */
INLINE void write_rows(const result_form form, int row, int column, int rows, const int columns,
                       const real sum[PART_TILES][4], const real *extra, real *out) {
    const finish epilogue = form.epilogue;
    const bool by_element = epilogue == FINISH_ADD || epilogue == FINISH_RELU_GRAD, scales = column < form.scaled;
    quad add[2 * ROW_GROUPS], z[2 * ROW_GROUPS];
    row += result_row();
    column += quad_column();
    if (columns % TILE && column >= columns) return;
#pragma unroll
    for (int i = 0; i < 2 * ROW_GROUPS; i++) {
        const int r = row + i / 2 * 8 + i % 2;
        if (!by_element && i > 0) add[i] = add[0];
        else if (r < rows || !by_element) add[i] = fetch_extra(epilogue, r, column, extra, columns);
    }
#pragma unroll
    for (int i = 0; i < 2 * ROW_GROUPS; i++) z[i] = finish_quad(epilogue, result_quad(sum, i / 2, i % 2), add[i]);
    if (scales) {
#pragma unroll
        for (int i = 0; i < 2 * ROW_GROUPS; i++) scale_quad(form, column, &z[i]);
    }
#pragma unroll
    for (int i = 0; i < 2 * ROW_GROUPS; i++) {
        const int r = row + i / 2 * 8 + i % 2;
        if (r < rows) write_quad(form, r, column, z[i], out, columns);
    }
}

/* sized_product for more than NARROW columns. */
INLINE void wide_product(const bool x_rounded, const bool rounded, int rows, const int columns, const int K,
                         const real *x, const bool stores, real *stored_x, const order along, const real *weight,
                         const int stride, const result_form form, const real *extra, real *out) {
    const int parts_per_row = (columns + TILE - 1) / TILE,
              parts = (int)((rows + PART_ROWS - 1u) / PART_ROWS) * parts_per_row;
#pragma unroll 1
    for (int part = warp_number(); part < parts; part += WARPS) {
        const int row = part / parts_per_row * PART_ROWS, column = part % parts_per_row * TILE;
        real sum[PART_TILES][4] = {};
        add_products(x_rounded, rounded, row, rows, K, x, stores, stored_x, along, weight, stride, column, columns,
                     sum);
        write_rows(form, row, column, rows, columns, sum, extra, out);
    }
    __syncthreads();
}

/* out[rows][columns] = x[rows][K] times weights, changed by `form`; add_products explains the other arguments. All
 * threads of the block call this function; when it returns, all may read the results. */
INLINE void sized_product(const bool x_rounded, const bool rounded, int rows, const int columns, const int K,
                          const real *x, const bool stores, real *stored_x, const order along, const real *weight,
                          const int stride, const result_form form, const real *extra, real *out) {
    assume_global(x);
    assume_global(weight);
    assume_global(out);
    if (columns <= NARROW)
        narrow_product(x_rounded, rounded, rows, columns, K, x, stores, stored_x, along, weight, stride, form, extra,
                       out);
    else
        wide_product(x_rounded, rounded, rows, columns, K, x, stores, stored_x, along, weight, stride, form, extra,
                     out);
}
