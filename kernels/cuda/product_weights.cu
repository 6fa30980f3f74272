/* Gradients of weights: sums over the tokens of the whole batch. The thread blocks of a team compute tiles of 32 x 64
 * gradients in turn. The operands, inputs of products and gradients of their outputs, are stored for each shard, in
 * pairs of tokens (store_pair).
 *
 * A use of the weights is one product with them; a model with loops uses weights several times. The tokens of all
 * shards in all uses form one sequence. It is cut into parts of one size, four for each warp; the last parts may be
 * shorter. In every group of four lanes, lane t processes the warp's part t, LANE_TOKENS tokens at a time. Then the
 * sums of the warps are added in order. The order of sums depends only on `uses` and the sizes of shards. */

enum {
    HALVES = 2,                 /* halves of a tile, each with TILE columns */
    TILE_WIDTH = HALVES * TILE, /* columns of a tile */
    PARTS = 4 * WARPS,          /* parts of the tokens */
    PAIRS = DEPTH,              /* pairs of tokens that a lane multiplies at a time */
    LANE_TOKENS = 2 * PAIRS,    /* tokens that a lane multiplies at a time */
    LANE_QUADS = 2 * PAIRS      /* blocks of 2 x 2 elements that a lane loads; block q belongs to pair q / 2 */
};

/* The arguments of the gradient of weights, and of a bias if there is one, in shared memory:
 *   inner, columns    shape of dweight, [inner][columns]
 *   uses              number of uses of the weights
 *   shards            number of shards
 *   tokens            number of tokens of a shard
 *   long_shards       number of shards, the first ones, with one more sequence of T tokens
 *   use_rows          rows (tokens) between successive uses in an operand
 *   stride            bytes between the operands of successive shards
 *   x, dy             operands of the first shard in the first use
 *   dweight, dbias    results; dbias is NULL without a bias */
typedef struct weights_gradient {
    int inner, columns, uses, shards, tokens, long_shards, T, use_rows;
    long long stride;
    const real *x, *dy;
    real *dweight, *dbias;
} weights_gradient;

/* A lane's position among the tokens of all shards in all uses:
 *   left    number of tokens from the position to the end of the shard; 0 after the last token
 *   x       address of the input that belongs to the lane's first row of the gradient
 *   dy      address of the output's gradient that belongs to the lane's first column of the gradient
 * A lane may read beyond the end of a row; results of this data are not written. */
typedef struct token_cursor {
    int use, shard, left;
    const real *x, *dy;
} token_cursor;

/* x, dy: the distances in bytes by which LANE_TOKENS tokens move a cursor. row, column: the first row and the first
 * column of a tile. */
typedef struct token_steps {
    long long x, dy;
    int row, column;
} token_steps;

INLINE int shard_tokens(const weights_gradient *w, int shard) {
    return w->tokens + (shard < w->long_shards ? w->T : 0);
}

/* Returns the address of a lane's operand. first: the operand of the first shard; distance: the bytes from there to
 * the operand of the lane's shard; row: the index of a row of `width` elements in this operand; column: the lane's
 * first row or column of the gradient. */
INLINE const real *find_operand(const real *first, long long distance, int row, int width, int column) {
    return compute_once((const real *)((const char *)first + distance) + (row * width + 2 * column));
}

/* Finds the operands of a shard in a use, from token `first` on. */
INLINE void enter_shard(const weights_gradient *w, const token_steps *steps, int first, token_cursor *cursor) {
    const long long shard = cursor->shard * w->stride;
    const int row = cursor->use * w->use_rows + first;
    cursor->left = shard_tokens(w, cursor->shard) - first;
    cursor->x = find_operand(w->x, shard, row, w->inner, steps->row + lane_row());
    cursor->dy = find_operand(w->dy, shard, row, w->columns, steps->column + lane_column());
}

/* Moves the cursor to the next shard with tokens, in this use or the next. At the end, x and dy keep their values. */
INLINE void find_next_shard(const weights_gradient *w, const token_steps *steps, token_cursor *cursor) {
    const bool is_last = cursor->shard + 1 == w->shards || shard_tokens(w, cursor->shard + 1) == 0;
    cursor->left = 0;
    if (is_last && cursor->use + 1 == w->uses) return;
    cursor->use += is_last;
    cursor->shard = is_last ? 0 : cursor->shard + 1;
    enter_shard(w, steps, 0, cursor);
}

/* The number of units of LANE_TOKENS tokens in a shard; the last unit may have fewer tokens. */
INLINE int shard_units(int tokens) { return (tokens + LANE_TOKENS - 1) / LANE_TOKENS; }

/* Finds the first token of the lane's part. Returns the number of units of a part. */
INLINE int find_part(const weights_gradient *w, const token_steps *steps, token_cursor *cursor) {
    const int long_units = shard_units(w->tokens + w->T), short_units = shard_units(w->tokens),
              all_long_units = w->long_shards * long_units,
              use_units = all_long_units + (w->shards - w->long_shards) * short_units,
              units = (w->uses * use_units + PARTS - 1) / PARTS,
              first = (int)(threadIdx.x / WARP * 4 + threadIdx.x % 4) * units, unit = first % use_units;
    const bool has_tokens = first < w->uses * use_units, is_long = unit < all_long_units;
    const int index = is_long ? unit : unit - all_long_units, units_per_shard = is_long ? long_units : short_units;
    cursor->use = has_tokens ? first / use_units : 0;
    cursor->shard = has_tokens ? index / units_per_shard + (is_long ? 0 : w->long_shards) : 0;
    enter_shard(w, steps, has_tokens ? index % units_per_shard * LANE_TOKENS : 0, cursor);
    if (!has_tokens) { /* the state after the last token; x and dy belong to the first token */
        cursor->use = w->uses - 1;
        cursor->shard = w->shards - 1;
        cursor->left = 0;
    }
    return units;
}

INLINE stored_quad load_stored(const real *from) {
    assume_global(from);
    return *(const stored_quad *)from;
}

/* Prefetches a lane's quads. In place of pairs after the shard's last token, the lane reads its first pair again. */
INLINE void fetch_tokens(const token_steps *steps, const token_cursor *cursor, stored_quad a[LANE_QUADS],
                         stored_quad b[HALVES][LANE_QUADS]) {
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        const bool has_pair = i > 0 && cursor->left > 2 * i; /* false for pair 0: its distance is 0 */
        const real *x = (const real *)((const char *)cursor->x + (has_pair ? steps->x / PAIRS * i : 0)),
                   *dy = (const real *)((const char *)cursor->dy + (has_pair ? steps->dy / PAIRS * i : 0));
#pragma unroll
        for (int q = 0; q < 2; q++) {
            a[2 * i + q] = load_stored(x + q * 4);
#pragma unroll
            for (int h = 0; h < HALVES; h++) b[h][2 * i + q] = load_stored(dy + q * 4 + h * 2 * TILE);
        }
    }
}

/* The element of row or column m (0 to 3) and of token k (0 or 1) of a pair of tokens, in the blocks of the pair. */
INLINE stored block_element(const order along, const stored_quad *pair, const int m, const int k) {
    return pair[m / 2].v[along == ROWS ? k * 2 + m % 2 : m % 2 * 2 + k];
}

/* Sets gradients of outputs to 0 from token `left` on. */
INLINE void clear_beyond(int left, stored_quad b[HALVES][LANE_QUADS]) {
#pragma unroll
    for (int i = 0; i < HALVES * 4 * LANE_QUADS; i++) {
        const int e = i % (4 * LANE_QUADS);
        if (e / 8 * 2 + e % 2 >= left) b[i / (4 * LANE_QUADS)][e / 4].v[e % 4] = 0;
    }
}

/* Packs the elements of LANE_TOKENS tokens, as they are stored, into words. The words of the lane's row or column m
 * are words[m][0] and words[m][1]. */
INLINE void pack_stored(const order along, const stored_quad part[LANE_QUADS], operand_word words[4][WORDS]) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int m = i / 2, first = DEPTH * (i % 2), last = first + DEPTH - 1;
        words[m][i % 2] = stored_word(true, block_element(along, part + first / 2 * 2, m, first % 2),
                                      block_element(along, part + last / 2 * 2, m, last % 2));
    }
}

/* Adds the sums of all warps for one half of a tile, in the order of warps, and writes the total. */
INLINE void write_half(const real sum[2][4][4], int row, int column, const weights_gradient *w) {
    /* quad_row: the row of the thread's quad; row_quad: the index of the quad in this row. */
    const int quad_row = shared_row(), row_quad = shared_quad();
    share_part(sum, staging() + warp_number() * TILE * TILE);
    __syncthreads();
    if (row + quad_row < w->inner && column + 4 * row_quad < w->columns) {
        const real *sums = staging() + sums_index(quad_row, row_quad);
        quad z = *(const quad *)sums;
#pragma unroll
        for (int i = 1; i < WARPS; i++) {
            const quad summand = *(const quad *)(sums + i * TILE * TILE);
#pragma unroll
            for (int c = 0; c < 4; c++) z.v[c] += summand.v[c];
        }
        *(quad *)(w->dweight + (row + quad_row) * w->columns + column + 4 * row_quad) = z;
    }
    __syncthreads();
}

/* Adds the column sums of all lanes and writes the gradient of the bias. sum: the lane's column sums, one quad for each
 * half. */
INLINE void write_bias(real sum[HALVES][4], int column, const weights_gradient *w) {
    real *sums = staging();
    const int c = (int)threadIdx.x;
#pragma unroll
    for (int i = 0; i < 4 * HALVES; i++) {
        real *sum_of_lane = &sum[i / 4][i % 4];
        *sum_of_lane += __shfl_xor_sync(0xffffffffu, *sum_of_lane, 1);
        *sum_of_lane += __shfl_xor_sync(0xffffffffu, *sum_of_lane, 2);
        if (threadIdx.x % 4 == 0)
            sums[warp_number() * TILE_WIDTH + i / 4 * TILE + lane_column() + i % 4] = *sum_of_lane;
    }
    __syncthreads();
    if (c < TILE_WIDTH && column + c < w->columns) {
        real z = sums[c];
#pragma unroll
        for (int i = 1; i < WARPS; i++) z += sums[i * TILE_WIDTH + c];
        w->dbias[column + c] = z;
    }
    __syncthreads();
}

/* Adds the gradients of outputs of a lane's tokens to its column sums. */
INLINE void add_to_bias(const stored_quad b[HALVES][LANE_QUADS], real bias[HALVES][4]) {
#pragma unroll
    for (int i = 0; i < 2 * PAIRS * HALVES * 4; i++) {
        const int k = i / (HALVES * 4), h = i / 4 % HALVES;
        bias[h][i % 4] += stored_real(block_element(COLUMNS, b[h] + k / 2 * 2, i % 4, k % 2));
    }
}

/* Adds the products of a lane's tokens, and prefetches the next tokens into next_a and next_b. */
INLINE void add_tokens(const weights_gradient *w, const token_steps *steps, token_cursor *cursor, const bool adds_bias,
                       const stored_quad a[LANE_QUADS], stored_quad b[HALVES][LANE_QUADS],
                       stored_quad next_a[LANE_QUADS], stored_quad next_b[HALVES][LANE_QUADS],
                       real sum[HALVES][2][4][4], real bias[HALVES][4]) {
    operand_word words_a[4][WORDS], words_b[4][WORDS];
    if (cursor->left <= LANE_TOKENS) {
        clear_beyond(cursor->left, b);
        find_next_shard(w, steps, cursor);
    } else {
        cursor->left -= LANE_TOKENS;
        cursor->x = (const real *)((const char *)cursor->x + steps->x);
        cursor->dy = (const real *)((const char *)cursor->dy + steps->dy);
    }
    fetch_tokens(steps, cursor, next_a, next_b);
    if (adds_bias) add_to_bias(b, bias);
    pack_stored(ROWS, a, words_a);
#pragma unroll
    for (int h = 0; h < HALVES; h++) {
        pack_stored(COLUMNS, b[h], words_b);
        multiply_words(0, words_a, words_b, sum[h]);
    }
}

INLINE int weight_tiles(int inner, int columns) {
    return (inner + TILE - 1) / TILE * ((columns + TILE_WIDTH - 1) / TILE_WIDTH);
}

/* Computes the tile with index `tile` of a gradient. */
NOINLINE void add_up_tile(const weights_gradient *w, int tile) {
    const int tiles_per_row = (w->columns + TILE_WIDTH - 1) / TILE_WIDTH;
    const int row = tile / tiles_per_row * TILE, column = tile % tiles_per_row * TILE_WIDTH;
    const bool adds_bias = w->dbias && row == 0;
    const token_steps steps = {compute_distance_once(LANE_TOKENS * w->inner * (long long)sizeof(real)),
                               compute_distance_once(LANE_TOKENS * w->columns * (long long)sizeof(real)), row, column};
    token_cursor cursor;
    real sum[HALVES][2][4][4], bias[HALVES][4];
    stored_quad a[2][LANE_QUADS], b[2][HALVES][LANE_QUADS]; /* operands of the current and the next tokens, in turn */
#pragma unroll
    for (int i = 0; i < HALVES * 32; i++) sum[i / 32][i / 16 % 2][i / 4 % 4][i % 4] = 0;
#pragma unroll
    for (int i = 0; i < HALVES * 4; i++) bias[i / 4][i % 4] = 0;
    int left = find_part(w, &steps, &cursor); /* units of the lane's part that are not yet added */
    fetch_tokens(&steps, &cursor, a[0], b[0]);
#pragma unroll 1
    while (true) {
        add_tokens(w, &steps, &cursor, adds_bias, a[0], b[0], a[1], b[1], sum, bias);
        if (--left == 0) break;
        add_tokens(w, &steps, &cursor, adds_bias, a[1], b[1], a[0], b[0], sum, bias);
        if (--left == 0) break;
    }
#pragma unroll
    for (int h = 0; h < HALVES; h++)
        if (h == 0 || column + TILE < w->columns) write_half(sum[h], row, column + h * TILE, w);
    if (adds_bias) write_bias(bias, column, w);
}
