/* Gradients of products' weights over the tokens of the whole batch, by all blocks of a team. Shards store the inputs
 * of products and the gradients of their outputs; when all shards have stored them, blocks take tiles of 32 x 64
 * gradients in turn. Warp w of a block sums over the tokens of every WARPS-th shard, from shard w on. With fewer shards
 * than warps it sums over every WARPS-th group of each shard's tokens. Then the warps' sums are added in order, so the
 * order of sums depends on the number of shards alone. Lanes hold operands as in product_warps.cu, except that a group
 * consists of the tokens of one tensor instruction, and the tokens of a lane are four apart. */

enum { HALVES = 2, SPREAD = HALVES * TILE, STEP_TOKENS = 8 * DEPTH /* of a group */, OF_LANE = STEP_TOKENS / 4 };

/* Stores rows [rows][columns], in whole quads, for a product over tokens. */
INLINE void keep_rows(int rows, int columns, const real *from, real *to) {
    is_global(from);
    is_global(to);
#pragma unroll 4
    for (int e = 4 * (int)threadIdx.x; e < rows * columns; e += 4 * THREADS) {
        quad x = *(const quad *)(from + e);
#pragma unroll
        for (int i = 0; i < 4; i++) x.v[i] = kept_real(x.v[i]);
        *(quad *)(to + e) = x;
    }
}

NOINLINE void keep_operands(int rows, int inner, int columns, const real *x, const real *dy, real *to_x, real *to_dy) {
    keep_rows(rows, inner, x, to_x);
    keep_rows(rows, columns, dy, to_dy);
    __syncthreads();
}

/* The arguments of a gradient of weights, and of their bias (dbias NULL: none), in shared memory. x and dy: operands of
 * the first shard and the first use of the weights; shards are `stride` bytes apart, and uses of the same weights
 * `between` rows. A shard has `tokens` tokens; each of the first `longer` shards has one more sequence of T tokens. */
typedef struct weights_gradient {
    int inner, columns, uses, shards, tokens, longer, T;
    size_t between;
    long long stride;
    const real *x, *dy;
    real *dweight, *dbias;
} weights_gradient;

/* A position among the tokens of all shards in all uses: token k of K in a shard. */
typedef struct token_place {
    int use, shard, k, K;
    const real *x, *dy;
} token_place;

INLINE void enter_shard(const weights_gradient *w, token_place *at) {
    const size_t before = at->use * w->between;
    at->K = w->tokens + (at->shard < w->longer ? w->T : 0);
    at->x = (const real *)((const char *)(w->x + before * w->inner) + at->shard * w->stride);
    at->dy = (const real *)((const char *)(w->dy + before * w->columns) + at->shard * w->stride);
}

/* Moves on by `step` shards until the warp has tokens; returns false at the end. */
INLINE bool settle(const weights_gradient *w, int step, int first_k, token_place *at) {
    while (at->k >= at->K) {
        at->shard += step;
        for (; at->shard >= w->shards; at->shard -= w->shards) at->use++;
        if (at->use >= w->uses) return false;
        at->k = first_k;
        enter_shard(w, at);
    }
    return true;
}

/* Prefetches a lane's quads of a group of tokens; in place of elements beyond K or M it reads the last ones. */
INLINE void fetch_tokens(const real *x, int stride, int k, int m, int K, int M, quad part[OF_LANE]) {
    is_global(x);
    const int first = (k + (int)threadIdx.x % 4) * stride, last = (K - 1) * stride;
    x += min(m, M - 4);
#pragma unroll
    for (int i = 0; i < OF_LANE; i++) part[i] = *(const quad *)(x + min(first + 4 * i * stride, last));
}

INLINE void clear_beyond(int k, int K, quad part[OF_LANE]) {
    k += threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 4 * OF_LANE; i++)
        if (k + i / 4 * 4 >= K) part[i / 4].v[i % 4] = 0;
}

/* Packs the words of a lane's four m, the first two words of each. */
INLINE void kept_words(const quad part[OF_LANE], operand_word words[4][WORDS]) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int m = i / 2, first = DEPTH * (i % 2);
        words[m][i % 2] = kept_word(part[first].v[m], part[first + DEPTH - 1].v[m]);
    }
}

/* Adds the sums of all warps for one half of a tile, in the order of warps, and writes the total. */
INLINE void write_half(const real sum[2][4][4], int row, int column, const weights_gradient *w) {
    const int in_row = (int)threadIdx.x / 8, in_column = (int)threadIdx.x % 8;
    share_part(sum, staging() + threadIdx.x / WARP * TILE * TILE);
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
        if (threadIdx.x % 4 == 0) sums[threadIdx.x / WARP * SPREAD + i / 4 * TILE + lane_column() + i % 4] = *one;
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

/* Loads the next group of a tile's operands; m, n: a lane's first row and column. */
INLINE void fetch_group(const weights_gradient *w, const token_place *at, int m, int n, quad a[OF_LANE],
                        quad b[HALVES][OF_LANE]) {
    fetch_tokens(at->x, w->inner, at->k, m, at->K, w->inner, a);
#pragma unroll
    for (int h = 0; h < HALVES; h++) fetch_tokens(at->dy, w->columns, at->k, n + h * TILE, at->K, w->columns, b[h]);
}

/* Adds the products of a group while the next group is loaded. Moves `at` on by step_k tokens, or by `step` shards to
 * token first_k; returns false if there is no next group. */
INLINE bool add_group(const weights_gradient *w, token_place *at, int step, int first_k, int step_k, int m, int n,
                      const bool biased, const quad a[OF_LANE], quad b[HALVES][OF_LANE], quad next_a[OF_LANE],
                      quad next_b[HALVES][OF_LANE], real sum[HALVES][2][4][4], real bias[HALVES][4]) {
    operand_word words_a[4][WORDS], words_b[4][WORDS];
    if (at->k + STEP_TOKENS > at->K) {
#pragma unroll
        for (int h = 0; h < HALVES; h++) clear_beyond(at->k, at->K, b[h]);
    }
    at->k += step_k;
    const bool more = settle(w, step, first_k, at);
    if (more) fetch_group(w, at, m, n, next_a, next_b);
    if (biased) {
#pragma unroll
        for (int i = 0; i < HALVES * STEP_TOKENS; i++)
            bias[i / STEP_TOKENS][i % 4] += b[i / STEP_TOKENS][i / 4 % OF_LANE].v[i % 4];
    }
    kept_words(a, words_a);
#pragma unroll
    for (int h = 0; h < HALVES; h++) {
        kept_words(b[h], words_b);
        multiply_words(0, words_a, words_b, sum[h]);
    }
    return more;
}

INLINE int weight_tiles(int inner, int columns) {
    return (inner + TILE - 1) / TILE * ((columns + SPREAD - 1) / SPREAD);
}

/* Computes one tile of a gradient, by its number. Registers hold two groups of operands, which alternate. */
NOINLINE void add_up_tile(const weights_gradient *w, int tile) {
    const int across = (w->columns + SPREAD - 1) / SPREAD;
    const int row = tile / across * TILE, column = tile % across * SPREAD;
    const int warp = threadIdx.x / WARP, m = row + lane_row(), n = column + lane_column();
    const bool whole = w->shards * w->uses >= WARPS, biased = w->dbias && row == 0;
    const int step = whole ? WARPS : 1, first_k = whole ? 0 : warp * STEP_TOKENS,
              step_k = whole ? STEP_TOKENS : WARPS * STEP_TOKENS;
    token_place at = {0, (whole ? warp : 0) - step, 0, 0, NULL, NULL}; /* before the first shard */
    real sum[HALVES][2][4][4], bias[HALVES][4];
    quad a[2][OF_LANE], b[2][HALVES][OF_LANE];
#pragma unroll
    for (int i = 0; i < HALVES * 32; i++) sum[i / 32][i / 16 % 2][i / 4 % 4][i % 4] = 0;
#pragma unroll
    for (int i = 0; i < HALVES * 4; i++) bias[i / 4][i % 4] = 0;
    bool more = settle(w, step, first_k, &at);
    if (more) fetch_group(w, &at, m, n, a[0], b[0]);
#pragma unroll 1
    while (more && add_group(w, &at, step, first_k, step_k, m, n, biased, a[0], b[0], a[1], b[1], sum, bias))
        more = add_group(w, &at, step, first_k, step_k, m, n, biased, a[1], b[1], a[0], b[0], sum, bias);
#pragma unroll
    for (int h = 0; h < HALVES; h++)
        if (h == 0 || column + TILE < w->columns) write_half(sum[h], row, column + h * TILE, w);
    if (biased) write_bias(bias, column, w);
}
