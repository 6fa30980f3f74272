/* Gradients of products' weights over the tokens of the whole batch, by all blocks of a team. Shards store the inputs
 * of products and the gradients of their outputs; when all shards have stored them, blocks take tiles of 32 x 64
 * gradients in turn. Warp w of a block sums over the tokens of every WARPS-th shard, from shard w on. With fewer shards
 * than warps it sums over every WARPS-th group of each shard's tokens. Then the warps' sums are added in order, so the
 * order of sums depends on the number of shards alone. Lanes hold operands as in product_warps.cu, except that a group
 * consists of the tokens of one tensor instruction, and the tokens of a lane are four apart. */

enum {
    HALVES = 2,
    TILE_WIDTH = HALVES * TILE,
    STEP_TOKENS = 8 * DEPTH /* tokens of a group */,
    LANE_TOKENS = STEP_TOKENS / 4
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

/* A lane's position among the tokens of all shards in all uses: token k of K in a shard. x and dy: the operands of the
 * shard's first token, from the lane's first row and column of the gradient on. second: the distance from there to the
 * lane's columns of the tile's second half. */
typedef struct token_cursor {
    int use, shard, k, K, second;
    const real *x, *dy;
} token_cursor;

/* Moves on by `step` shards until the warp has tokens; returns false at the end. m, n: the lane's first row and
 * column. */
INLINE bool find_tokens(const weights_gradient *w, int step, int first_k, int m, int n, token_cursor *cursor) {
    while (cursor->k >= cursor->K) {
        cursor->shard += step;
        for (; cursor->shard >= w->shards; cursor->shard -= w->shards) cursor->use++;
        if (cursor->use >= w->uses) return false;
        cursor->k = first_k;
        cursor->K = w->tokens + (cursor->shard < w->longer ? w->T : 0);
        const int rows = cursor->use * w->between;
        const long long shard_offset = cursor->shard * w->stride;
        cursor->x = (const real *)((const char *)(w->x + (rows * w->inner + m)) + shard_offset);
        cursor->dy = (const real *)((const char *)(w->dy + (rows * w->columns + n)) + shard_offset);
    }
    return true;
}

/* Prefetches a lane's quads of the next group of tokens; in place of tokens beyond K it reads the last one. */
INLINE void fetch_group(const weights_gradient *w, const token_cursor *cursor, stored_quad a[LANE_TOKENS],
                        stored_quad b[HALVES][LANE_TOKENS]) {
    is_global(cursor->x);
    is_global(cursor->dy);
#pragma unroll
    for (int i = 0; i < LANE_TOKENS; i++) {
        const int row = min(cursor->k + (int)(threadIdx.x % 4) + 4 * i, cursor->K - 1);
        const real *dy = cursor->dy + row * w->columns;
        a[i] = *(const stored_quad *)(cursor->x + row * w->inner);
#pragma unroll
        for (int h = 0; h < HALVES; h++) b[h][i] = *(const stored_quad *)(dy + h * cursor->second);
    }
}

INLINE void clear_beyond(int k, int K, stored_quad part[LANE_TOKENS]) {
    k += threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 4 * LANE_TOKENS; i++)
        if (k + i / 4 * 4 >= K) part[i / 4].v[i % 4] = 0;
}

/* Packs the first two words of each of a lane's four m. The numbers in `part` are rounded already. */
INLINE void pack_rounded(const stored_quad part[LANE_TOKENS], operand_word words[4][WORDS]) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int m = i / 2, first = DEPTH * (i % 2);
        words[m][i % 2] = stored_word(true, part[first].v[m], part[first + DEPTH - 1].v[m]);
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

/* Adds a lane's i-th token of a group to its column sums. */
INLINE void add_to_bias(const int i, const stored_quad b[HALVES][LANE_TOKENS], real bias[HALVES][4]) {
#pragma unroll
    for (int c = 0; c < HALVES * 4; c++) bias[c / 4][c % 4] += stored_real(b[c / 4][i].v[c % 4]);
}

/* Adds the products of a group, and prefetches the next group as soon as this group's words are packed. Moves the
 * cursor on by step_k tokens, or by `step` shards to token first_k; returns false if there is no next group. */
INLINE bool add_group(const weights_gradient *w, token_cursor *cursor, int step, int first_k, int step_k, int m, int n,
                      const bool adds_bias, stored_quad a[LANE_TOKENS], stored_quad b[HALVES][LANE_TOKENS],
                      real sum[HALVES][2][4][4], real bias[HALVES][4]) {
    operand_word words_a[4][WORDS], words_b[HALVES][4][WORDS];
    if (adds_bias) {
#pragma unroll
        for (int i = 0; i < LANE_TOKENS; i++)
            if (cursor->k + (int)(threadIdx.x % 4) + 4 * i < cursor->K) add_to_bias(i, b, bias);
    }
    if (cursor->k + STEP_TOKENS > cursor->K) clear_beyond(cursor->k, cursor->K, a);
    pack_rounded(a, words_a);
#pragma unroll
    for (int h = 0; h < HALVES; h++) pack_rounded(b[h], words_b[h]);
    cursor->k += step_k;
    const bool has_group = find_tokens(w, step, first_k, m, n, cursor);
    fetch_group(w, cursor, a, b); /* after the last group, its last token once more */
#pragma unroll
    for (int h = 0; h < HALVES; h++) multiply_words(0, words_a, words_b[h], sum[h]);
    return has_group;
}

INLINE int weight_tiles(int inner, int columns) {
    return (inner + TILE - 1) / TILE * ((columns + TILE_WIDTH - 1) / TILE_WIDTH);
}

/* Computes one tile of a gradient, by its number. */
NOINLINE void add_up_tile(const weights_gradient *w, int tile) {
    const int tiles_per_row = (w->columns + TILE_WIDTH - 1) / TILE_WIDTH;
    const int row = tile / tiles_per_row * TILE, column = tile % tiles_per_row * TILE_WIDTH;
    const int warp = warp_number(), last_column = w->columns - 4, m = min(row + lane_row(), w->inner - 4),
              n = min(column + lane_column(), last_column);
    const bool by_shard = w->shards * w->uses >= WARPS, adds_bias = w->dbias && row == 0;
    const int step = by_shard ? WARPS : 1, first_k = by_shard ? 0 : warp * STEP_TOKENS,
              step_k = by_shard ? STEP_TOKENS : WARPS * STEP_TOKENS;
    token_cursor cursor = {
        0, (by_shard ? warp : 0) - step, 0, 0, min(column + lane_column() + TILE, last_column) - n, NULL, NULL};
    real sum[HALVES][2][4][4], bias[HALVES][4];
    stored_quad a[LANE_TOKENS], b[HALVES][LANE_TOKENS];
#pragma unroll
    for (int i = 0; i < HALVES * 32; i++) sum[i / 32][i / 16 % 2][i / 4 % 4][i % 4] = 0;
#pragma unroll
    for (int i = 0; i < HALVES * 4; i++) bias[i / 4][i % 4] = 0;
    bool has_group = find_tokens(w, step, first_k, m, n, &cursor); /* the cursor is before the first shard */
    if (has_group) fetch_group(w, &cursor, a, b);
#pragma unroll 1
    while (has_group) has_group = add_group(w, &cursor, step, first_k, step_k, m, n, adds_bias, a, b, sum, bias);
#pragma unroll
    for (int h = 0; h < HALVES; h++)
        if (h == 0 || column + TILE < w->columns) write_half(sum[h], row, column + h * TILE, w);
    if (adds_bias) write_bias(bias, column, w);
}
