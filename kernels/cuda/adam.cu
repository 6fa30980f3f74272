/* The fold of the shards' gradients, their norm, clipping and Adam, over pieces of the parameter vector. A piece is
 * what a block does at a time; its sums of squares have a fixed order, whichever block does it.
 *
 *   g' = g clip;  m = b1 m + (1 - b1) g';  v = b2 v + (1 - b2) g'^2;  p -= rate m / (sqrt(correct2 v) + epsilon)
 *
 * Source: Kingma and Ba 2015, algorithm 1; epsilon outside the root, as in optax. Reference: lh_ref_adam_update. */

static_assert(LH_CUDA_PIECE == 4 * THREADS, "a thread has a quad of a piece");
enum { PIECE = LH_CUDA_PIECE, PIECES = PARAMETER_STORAGE / PIECE, CHUNK_PIECES = 4096 / PIECE };

/* total[count] = the sum over parts, `stride` bytes apart, in order; elements first, first + step, ... in quads. */
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

/* The sum of squares of a piece, for all threads of the block. */
INLINE double piece_squares(const real *x) {
    is_global(x);
    const quad part = *(const quad *)(x + 4 * threadIdx.x);
    double sum = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) sum += (double)part.v[i] * part.v[i];
    return block_sum(sum);
}

/* The sum of count numbers, for all threads, the same bits in every block. */
INLINE double total_of(const double *x, int count, int stride) {
    double sum = 0;
    is_global(x);
    for (int i = threadIdx.x; i < count; i += THREADS) sum += x[i * stride];
    return block_sum(sum);
}

typedef struct adam {
    real clip, rate, correct2;
} adam;

/* Updates a piece; the sums of squares of its parameters and of their change. REST1 and REST2 are 1 - b, rounded once,
 * from double. */
INLINE void adam_piece(const adam a, const real *gradient, real *moment1, real *moment2, real *parameter,
                       double *parameters, double *changes) {
    const int e = 4 * threadIdx.x;
    is_global(gradient);
    is_global(moment1);
    is_global(moment2);
    is_global(parameter);
    const quad g = *(const quad *)(gradient + e);
    quad m = *(const quad *)(moment1 + e), v = *(const quad *)(moment2 + e), p = *(const quad *)(parameter + e);
    double square = 0, moved = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const real clipped = g.v[i] * a.clip;
        m.v[i] = m.v[i] * BETA1 + clipped * REST1;
        v.v[i] = v.v[i] * BETA2 + clipped * clipped * REST2;
        const real change = m.v[i] * a.rate / (sqrt(v.v[i] * a.correct2) + EPSILON);
        p.v[i] -= change;
        square += (double)p.v[i] * p.v[i];
        moved += (double)change * change;
    }
    *(quad *)(moment1 + e) = m;
    *(quad *)(moment2 + e) = v;
    *(quad *)(parameter + e) = p;
    *parameters = block_sum(square);
    *changes = block_sum(moved);
}
