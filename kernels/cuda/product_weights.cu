/* Gradients of products' weights over the tokens of the whole batch, by all blocks of a team. Shards store the inputs
 * of products and the gradients of their outputs; when all shards have stored them, blocks take tiles of 32 x 64
 * gradients in turn. Warp w of a block sums over the tokens of every WARPS-th shard, from shard w on. With fewer shards
 * than warps it sums over every WARPS-th group of each shard's tokens. Then the warps' sums are added in order, so the
 * order of sums depends on the number of shards alone. Lanes hold operands as in product_warps.cu, except that a group
 * consists of the tokens of one tensor instruction, and the tokens of a lane are four apart. */

enum { HALVES = 2, SPREAD = HALVES * TILE, STEP_TOKENS = 8 * DEPTH /* tokens of a group */, OF_LANE = STEP_TOKENS / 4 };

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
typedef struct token_place {
    int use, shard, k, K, second;
    const real *x, *dy;
} token_place;

/* Moves on by `step` shards until the warp has tokens; returns false at the end. m, n: the lane's first row and column. */
INLINE bool settle(const weights_gradient *w, int step, int first_k, int m, int n, token_place *at) {
    while (at->k >= at->K) {
        at->shard += step;
        for (; at->shard >= w->shards; at->shard -= w->shards) at->use++;
        if (at->use >= w->uses) return false;
        at->k = first_k;
        at->K = w->tokens + (at->shard < w->longer ? w->T : 0);
        const int rows = at->use * w->between;
        const long long before = at->shard * w->stride;
        at->x = (const real *)((const char *)(w->x + (rows * w->inner + m)) + before);
        at->dy = (const real *)((const char *)(w->dy + (rows * w->columns + n)) + before);
    }
    return true;
}

/* Prefetches a lane's quads of the next group of tokens; in place of tokens beyond K it reads the last one. */
INLINE void fetch_group(const weights_gradient *w, const token_place *at, stored_quad a[OF_LANE],
                        stored_quad b[HALVES][OF_LANE]) {
    is_global(at->x);
    is_global(at->dy);
#pragma unroll
    for (int i = 0; i < OF_LANE; i++) {
        const int row = min(at->k + (int)(threadIdx.x % 4) + 4 * i, at->K - 1);
        const real *dy = at->dy + row * w->columns;
        a[i] = *(const stored_quad *)(at->x + row * w->inner);
#pragma unroll
        for (int h = 0; h < HALVES; h++) b[h][i] = *(const stored_quad *)(dy + h * at->second);
    }
}

INLINE void clear_beyond(int k, int K, stored_quad part[OF_LANE]) {
    k += threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 4 * OF_LANE; i++)
        if (k + i / 4 * 4 >= K) part[i / 4].v[i % 4] = 0;
}

/* Packs the words of a lane's four m, the first two words of each. */
INLINE void kept_words(const stored_quad part[OF_LANE], operand_word words[4][WORDS]) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int m = i / 2, first = DEPTH * (i % 2);
        words[m][i % 2] = stored_word(true, part[first].v[m], part[first + DEPTH - 1].v[m]);
    }
}

/* Adds the sums of all warps for one half of a tile, in the order of warps, and writes the total. */
INLINE void write_half(const real sum[2][4][4], int row, int column, const weights_gradient *w) {
    const int in_row = shared_row(), in_column = shared_quad();
    share_part(sum, staging() + warp_number() * TILE * TILE);
    __syncthreads();
    if (row + in_row < w->inner && column + 4 * in_column < w->columns) {
        const real *sums = staging() + in_sums(in_row, in_column);
        quad z = *(const quad *)sums;
#pragma unroll
        for (int i = 1; i < WARPS; i++) {
            const quad more = *(const quad *)(sums + i * TILE * TILE);
#pragma unroll
            for (int c = 0; c < 4; c++) z.v[c] += more.v[c];
        }
        *(quad *)(w->dweight + (row + in_row) * w->columns + column + 4 * in_column) = z;
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
        real *one = &sum[i / 4][i % 4];
        *one += __shfl_xor_sync(0xffffffffu, *one, 1);
        *one += __shfl_xor_sync(0xffffffffu, *one, 2);
        if (threadIdx.x % 4 == 0) sums[warp_number() * SPREAD + i / 4 * TILE + lane_column() + i % 4] = *one;
    }
    __syncthreads();
    if (c < SPREAD && column + c < w->columns) {
        real z = sums[c];
#pragma unroll
        for (int i = 1; i < WARPS; i++) z += sums[i * SPREAD + c];
        w->dbias[column + c] = z;
    }
    __syncthreads();
}

/* Adds a lane's i-th token of a group to its column sums. */
INLINE void add_to_bias(const int i, const stored_quad b[HALVES][OF_LANE], real bias[HALVES][4]) {
#pragma unroll
    for (int c = 0; c < HALVES * 4; c++) bias[c / 4][c % 4] += stored_real(b[c / 4][i].v[c % 4]);
}

/* Adds the products of a group, and prefetches the next group as soon as this group's words are packed. Moves `at` on by
 * step_k tokens, or by `step` shards to token first_k; returns false if there is no next group. */
INLINE bool add_group(const weights_gradient *w, token_place *at, int step, int first_k, int step_k, int m, int n,
                      const bool biased, stored_quad a[OF_LANE], stored_quad b[HALVES][OF_LANE],
                      real sum[HALVES][2][4][4], real bias[HALVES][4]) {
    operand_word words_a[4][WORDS], words_b[HALVES][4][WORDS];
    if (biased) {
#pragma unroll
        for (int i = 0; i < OF_LANE; i++)
            if (at->k + (int)(threadIdx.x % 4) + 4 * i < at->K) add_to_bias(i, b, bias);
    }
    if (at->k + STEP_TOKENS > at->K) clear_beyond(at->k, at->K, a);
    kept_words(a, words_a);
#pragma unroll
    for (int h = 0; h < HALVES; h++) kept_words(b[h], words_b[h]);
    at->k += step_k;
    const bool more = settle(w, step, first_k, m, n, at);
    fetch_group(w, at, a, b); /* after the last group, its last token once more */
#pragma unroll
    for (int h = 0; h < HALVES; h++) multiply_words(0, words_a, words_b[h], sum[h]);
    return more;
}

INLINE int weight_tiles(int inner, int columns) {
    return (inner + TILE - 1) / TILE * ((columns + SPREAD - 1) / SPREAD);
}

/* Computes one tile of a gradient, by its number. */
NOINLINE void add_up_tile(const weights_gradient *w, int tile) {
    const int across = (w->columns + SPREAD - 1) / SPREAD;
    const int row = tile / across * TILE, column = tile % across * SPREAD;
    const int warp = warp_number(), last = w->columns - 4, m = min(row + lane_row(), w->inner - 4),
              n = min(column + lane_column(), last);
    const bool whole = w->shards * w->uses >= WARPS, biased = w->dbias && row == 0;
    const int step = whole ? WARPS : 1, first_k = whole ? 0 : warp * STEP_TOKENS,
              step_k = whole ? STEP_TOKENS : WARPS * STEP_TOKENS;
    token_place at = {0, (whole ? warp : 0) - step, 0, 0, min(column + lane_column() + TILE, last) - n, NULL, NULL};
    real sum[HALVES][2][4][4], bias[HALVES][4];
    stored_quad a[OF_LANE], b[HALVES][OF_LANE];
#pragma unroll
    for (int i = 0; i < HALVES * 32; i++) sum[i / 32][i / 16 % 2][i / 4 % 4][i % 4] = 0;
#pragma unroll
    for (int i = 0; i < HALVES * 4; i++) bias[i / 4][i % 4] = 0;
    bool more = settle(w, step, first_k, m, n, &at); /* `at` is before the first shard */
    if (more) fetch_group(w, &at, a, b);
#pragma unroll 1
    while (more) more = add_group(w, &at, step, first_k, step_k, m, n, biased, a, b, sum, bias);
#pragma unroll
    for (int h = 0; h < HALVES; h++)
        if (h == 0 || column + TILE < w->columns) write_half(sum[h], row, column + h * TILE, w);
    if (biased) write_bias(bias, column, w);
}
