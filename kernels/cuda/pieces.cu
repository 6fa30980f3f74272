/* Pieces, and the sums over them that every optimiser needs. A piece is PIECE adjacent elements of the parameter
 * vector, or of a gradient or moment, and each thread of a block has one quad of it. Gradients of shards are added as
 * `real`, in the order of shards; squares are added in double, in an order that depends only on THREADS. */

static_assert(LH_CUDA_PIECE == 4 * THREADS, "a thread has a quad of a piece");
enum { PIECE = LH_CUDA_PIECE, PIECES = PARAMETER_STORAGE / PIECE, CHUNK_PIECES = 4096 / PIECE };

/* total[count] = the sum over `shards` parts, which are `stride` bytes apart, in order; a thread adds quads first,
 * first + step, ... */
INLINE void fold(int shards, const char *parts, long long stride, int first, int step, int count, real *total) {
    is_global(parts);
    is_global(total);
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

/* The sum of squares of a piece; every thread of the block gets it. */
INLINE double piece_squares(const real *x) {
    is_global(x);
    const quad part = *(const quad *)(x + 4 * threadIdx.x);
    double sum = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) sum += (double)part.v[i] * part.v[i];
    return block_sum(sum);
}

/* The sum of count numbers, `stride` apart; every thread gets it, with the same bits in every block. */
INLINE double total_of(const double *x, int count, int stride) {
    double sum = 0;
    is_global(x);
    for (int i = threadIdx.x; i < count; i += THREADS) sum += x[i * stride];
    return block_sum(sum);
}
