/* Pieces, and the sums over them that every optimiser needs. A piece is PIECE adjacent elements of the parameter
 * vector, a gradient or a moment. Each thread of a block has some quads of a piece. Gradients of shards are added as
 * `real`, in the order of shards. Squares are added in double; the order depends only on THREADS. */

static_assert(LH_CUDA_PIECE % (4 * THREADS) == 0, "a thread has whole quads of a piece");
enum {
    PIECE = LH_CUDA_PIECE,
    PIECE_PART = PIECE / THREADS,       /* elements of a piece that a thread has */
    PIECES = PARAMETER_STORAGE / PIECE, /* pieces of the parameter vector */
    CHUNK_PIECES = 4096 / PIECE         /* pieces of a chunk of LH_CHUNK elements */
};

/* The index in a piece of the thread's element i. */
INLINE int piece_element(const int i) { return 4 * (i / 4 * THREADS + (int)threadIdx.x) + i % 4; }

INLINE void load_piece(const real *x, real part[PIECE_PART]) {
    assume_global(x);
#pragma unroll
    for (int i = 0; i < PIECE_PART; i += 4) {
        const quad q = *(const quad *)(x + piece_element(i));
#pragma unroll
        for (int e = 0; e < 4; e++) part[i + e] = q.v[e];
    }
}

INLINE void store_piece(const real part[PIECE_PART], real *x) {
    assume_global(x);
#pragma unroll
    for (int i = 0; i < PIECE_PART; i += 4) {
        const quad q = {{part[i], part[i + 1], part[i + 2], part[i + 3]}};
        *(quad *)(x + piece_element(i)) = q;
    }
}

/* total[e] = the sum of element e over all shards, in the order of shards, for e < count. `parts` has one part for each
 * shard; parts are `stride` bytes apart. A thread computes the quads with the indices first, first + step, ... */
INLINE void fold(int shards, const char *parts, long long stride, int first, int step, int count, real *total) {
    assume_global(parts);
    assume_global(total);
    for (int e = 4 * first; e < count; e += 4 * step) {
        quad sum = *(const quad *)((const real *)parts + e);
#pragma unroll 8
        for (int s = 1; s < shards; s++) {
            const quad part = *(const quad *)((const real *)(parts + s * stride) + e);
#pragma unroll
            for (int i = 0; i < 4; i++) sum.v[i] += part.v[i];
        }
        *(quad *)(total + e) = sum;
    }
}

/* Returns the sum of squares of a piece to every thread of the block. */
INLINE double piece_squares(const real *x) {
    real part[PIECE_PART];
    double sum = 0;
    load_piece(x, part);
#pragma unroll
    for (int i = 0; i < PIECE_PART; i++) sum += (double)part[i] * part[i];
    return block_sum(sum);
}

/* The sum of `count` numbers that are `stride` elements apart. Every thread gets the sum, with the same bits in
 * every block. */
INLINE double sum_list(const double *x, int count, int stride) {
    double sum = 0;
    assume_global(x);
    for (int i = threadIdx.x; i < count; i += THREADS) sum += x[i * stride];
    return block_sum(sum);
}
