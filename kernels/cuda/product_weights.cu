/* Gradients of products' weights over the tokens of the whole batch, by all blocks of a team. Shards store the inputs
 * of products and the gradients of their outputs; when all shards have stored them, blocks take tiles of 32 x 64
 * gradients in turn. Warp w of a block sums over the tokens of every WARPS-th shard, from shard w on. With fewer shards
 * than warps it sums over every WARPS-th group of each shard's tokens. Then the warps' sums are added in order, so the
 * order of sums depends on the number of shards alone. Lanes hold operands as in product_warps.cu, except that a group
 * consists of the tokens of one tensor instruction, and a lane has pairs of adjacent tokens, four pairs apart. Operands
 * are stored in blocks of two tokens (store_pair), so a lane's registers need no copies. */

enum {
    HALVES = 2,
    TILE_WIDTH = HALVES * TILE,
    PAIRS = DEPTH,           /* pairs of tokens that a lane has of a group */
    STEP_TOKENS = 8 * PAIRS, /* tokens of a group */
    LANE_QUADS = 2 * PAIRS   /* quads of a lane's four rows or columns in a group: block q % 2 of pair q / 2 */
};

/* The arguments of a gradient of weights, and of their bias (dbias NULL: none), in shared memory. x and dy: operands of
 * the first shard and the first use of the weights; shards are `stride` bytes apart, and uses of the same weights
 * `between` rows. A shard has `tokens` tokens; each of the first `longer` shards has one more sequence of T tokens. */
typedef struct weights_gradient {
    int inner, columns, uses, shards, tokens, longer, T, between;
    long long stride;
    const real *x, *dy;
    real *dweight, *dbias;
} weights_gradient;

/* A lane's position among the tokens of all shards in all uses: `left` tokens of the shard from this group on; x and
 * dy: the bytes between the lane's operands of this group and those of the first group of the first shard and use. */
typedef struct token_cursor {
    int use, shard, left;
    long long x, dy;
} token_cursor;

/* How a lane moves on: by `shards` shards to token first_k, or by `tokens` tokens, which are group_x and group_dy bytes
 * of the operands; a token is row_x and row_dy bytes. x and dy: the lane's first pair of tokens, from the lane's first
 * row and column of the gradient on. Behind the columns of an operand lies the next row, or a pad; results that depend
 * on them are not written. */
typedef struct token_steps {
    int shards, first_k, tokens;
    long long row_x, row_dy, group_x, group_dy;
    const real *x, *dy;
} token_steps;

/* Moves on to the next shard of the warp. Returns false at the end. */
INLINE bool enter_shard(const weights_gradient *w, const token_steps *steps, token_cursor *cursor) {
    cursor->shard += steps->shards;
    for (; cursor->shard >= w->shards; cursor->shard -= w->shards) cursor->use++;
    if (cursor->use >= w->uses) return false;
    const long long shard = cursor->shard * w->stride, rows = cursor->use * w->between;
    cursor->left = w->tokens - steps->first_k + (cursor->shard < w->longer ? w->T : 0);
    cursor->x = shard + rows * steps->row_x;
    cursor->dy = shard + rows * steps->row_dy;
    return true;
}

/* Moves on to a shard of the warp with tokens if no token of this shard is left; returns false at the end. */
INLINE bool find_tokens(const weights_gradient *w, const token_steps *steps, token_cursor *cursor) {
    while (cursor->left <= 0)
        if (!enter_shard(w, steps, cursor)) return false;
    return true;
}

INLINE stored_quad load_stored(const real *from, long long bytes) {
    is_global(from);
    return *(const stored_quad *)((const char *)from + bytes);
}

/* The first token of a lane's pair i, counted from the group's first token. */
INLINE int pair_token(const int i) { return (int)(threadIdx.x % 4) * 2 + 8 * i; }

/* Prefetches a lane's quads of a group of tokens; in place of pairs beyond the last one it reads the last one. */
INLINE void fetch_group(const token_steps *steps, const token_cursor *cursor, stored_quad a[LANE_QUADS],
                        stored_quad b[HALVES][LANE_QUADS]) {
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        long long x = cursor->x + 8 * i * steps->row_x, dy = cursor->dy + 8 * i * steps->row_dy;
        if (cursor->left < STEP_TOKENS) { /* the shard's last group */
            const int back = max(pair_token(i) - (cursor->left - 1) / 2 * 2, 0);
            x -= back * steps->row_x;
            dy -= back * steps->row_dy;
        }
#pragma unroll
        for (int q = 0; q < 2; q++) {
            a[2 * i + q] = load_stored(steps->x + q * 4, x);
#pragma unroll
            for (int h = 0; h < HALVES; h++) b[h][2 * i + q] = load_stored(steps->dy + q * 4 + h * 2 * TILE, dy);
        }
    }
}

/* Sets inputs of tokens beyond the last one to 0; left: the number of tokens from the group's first one on. */
INLINE void clear_beyond(int left, stored_quad a[LANE_QUADS]) {
#pragma unroll
    for (int i = 0; i < 4 * LANE_QUADS; i++)
        if (pair_token(i / 8) + i % 4 / 2 >= left) a[i / 4].v[i % 4] = 0;
}

/* The element of row or column m, below 4, and of token k of a pair, 0 or 1, in the pair's blocks. */
INLINE stored of_block(const order along, const stored_quad *pair, const int m, const int k) {
    return pair[m / 2].v[along == ROWS ? k * 2 + m % 2 : m % 2 * 2 + k];
}

/* Packs the first two words of each of a lane's four m. The numbers in `part` are rounded already. */
INLINE void pack_rounded(const order along, const stored_quad part[LANE_QUADS], operand_word words[4][WORDS]) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int m = i / 2, first = DEPTH * (i % 2), last = first + DEPTH - 1;
        words[m][i % 2] = stored_word(true, of_block(along, part + first / 2 * 2, m, first % 2),
                                      of_block(along, part + last / 2 * 2, m, last % 2));
    }
}

/* Adds the sums of all warps for one half of a tile, in the order of warps, and writes the total. */
INLINE void write_half(const real sum[2][4][4], int row, int column, const weights_gradient *w) {
    const int quad_row = shared_row(), row_quad = shared_quad();
    share_part(sum, staging() + warp_number() * TILE * TILE);
    __syncthreads();
    if (row + quad_row < w->inner && column + 4 * row_quad < w->columns) {
        const real *sums = staging() + in_sums(quad_row, row_quad);
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

/* Adds the column sums of all lanes and writes the gradient of the bias; a lane has the sums over every fourth token,
 * one quad for each half. */
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

/* Adds a lane's tokens of a group to its column sums; left: as in clear_beyond. */
INLINE void add_to_bias(int left, const stored_quad b[HALVES][LANE_QUADS], real bias[HALVES][4]) {
#pragma unroll
    for (int k = 0; k < 2 * PAIRS; k++) {
        if (pair_token(k / 2) + k % 2 >= left) continue;
#pragma unroll
        for (int c = 0; c < HALVES * 4; c++)
            bias[c / 4][c % 4] += stored_real(of_block(COLUMNS, b[c / 4] + k / 2 * 2, c % 4, k % 2));
    }
}

/* Adds the products of a group, and prefetches the next group into next_a and next_b. Returns false if there is no next
 * group. */
INLINE bool add_group(const weights_gradient *w, const token_steps *steps, token_cursor *cursor, const bool adds_bias,
                      stored_quad a[LANE_QUADS], const stored_quad b[HALVES][LANE_QUADS],
                      stored_quad next_a[LANE_QUADS], stored_quad next_b[HALVES][LANE_QUADS], real sum[HALVES][2][4][4],
                      real bias[HALVES][4]) {
    operand_word words_a[4][WORDS], words_b[4][WORDS];
    if (adds_bias) add_to_bias(cursor->left, b, bias);
    if (cursor->left < STEP_TOKENS) clear_beyond(cursor->left, a);
    cursor->left -= steps->tokens;
    cursor->x += steps->group_x;
    cursor->dy += steps->group_dy;
    const bool has_group = find_tokens(w, steps, cursor);
    if (has_group) fetch_group(steps, cursor, next_a, next_b);
    pack_rounded(ROWS, a, words_a);
#pragma unroll
    for (int h = 0; h < HALVES; h++) {
        pack_rounded(COLUMNS, b[h], words_b);
        multiply_words(0, words_a, words_b, sum[h]);
    }
    return has_group;
}

INLINE int weight_tiles(int inner, int columns) {
    return (inner + TILE - 1) / TILE * ((columns + TILE_WIDTH - 1) / TILE_WIDTH);
}

/* The steps of a warp through the tokens, for a tile that begins at row and column; computed once. `by_shard`: each
 * warp takes whole shards. */
INLINE token_steps find_steps(const weights_gradient *w, const bool by_shard, int row, int column) {
    token_steps steps;
    steps.shards = computed_number(by_shard ? WARPS : 1);
    steps.first_k = computed_number(by_shard ? 0 : warp_number() * STEP_TOKENS);
    steps.tokens = computed_number(by_shard ? STEP_TOKENS : WARPS * STEP_TOKENS);
    steps.row_x = computed_distance(w->inner * (long long)sizeof(real));
    steps.row_dy = computed_distance(w->columns * (long long)sizeof(real));
    steps.group_x = computed_distance(steps.tokens * steps.row_x);
    steps.group_dy = computed_distance(steps.tokens * steps.row_dy);
    const int token = steps.first_k + pair_token(0);
    steps.x = computed(w->x + (token * w->inner + 2 * (row + lane_row())));
    steps.dy = computed(w->dy + (token * w->columns + 2 * (column + lane_column())));
    return steps;
}

/* Computes one tile of a gradient, by its number. */
NOINLINE void add_up_tile(const weights_gradient *w, int tile) {
    const int tiles_per_row = (w->columns + TILE_WIDTH - 1) / TILE_WIDTH;
    const int row = tile / tiles_per_row * TILE, column = tile % tiles_per_row * TILE_WIDTH;
    const bool by_shard = w->shards * w->uses >= WARPS, adds_bias = w->dbias && row == 0;
    const token_steps steps = find_steps(w, by_shard, row, column);
    token_cursor cursor = {0, (by_shard ? warp_number() : 0) - steps.shards, 0, 0, 0}; /* before the first shard */
    real sum[HALVES][2][4][4], bias[HALVES][4];
    stored_quad a[2][LANE_QUADS], b[2][HALVES][LANE_QUADS]; /* of this group and of the next one, in turn */
#pragma unroll
    for (int i = 0; i < HALVES * 32; i++) sum[i / 32][i / 16 % 2][i / 4 % 4][i % 4] = 0;
#pragma unroll
    for (int i = 0; i < HALVES * 4; i++) bias[i / 4][i % 4] = 0;
    bool has_group = find_tokens(w, &steps, &cursor);
    if (has_group) fetch_group(&steps, &cursor, a[0], b[0]);
#pragma unroll 1
    while (has_group) {
        has_group = add_group(w, &steps, &cursor, adds_bias, a[0], b[0], a[1], b[1], sum, bias);
        if (!has_group) break;
        has_group = add_group(w, &steps, &cursor, adds_bias, a[1], b[1], a[0], b[0], sum, bias);
    }
#pragma unroll
    for (int h = 0; h < HALVES; h++)
        if (h == 0 || column + TILE < w->columns) write_half(sum[h], row, column + h * TILE, w);
    if (adds_bias) write_bias(bias, column, w);
}
