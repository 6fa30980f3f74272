/* Sums that convert gradients of a score's tables to gradients of its parameters, in a fixed order; one thread computes
 * each element. */

/* to[c] += the sum of sums[c] over all threads, for c < count: lanes of a warp are added as a tree, then the warps in
 * order. A round of the loop adds WARP elements, or those that are left. Ends with a barrier.
 * staging: THREADS elements of shared memory */
INLINE void add_block_sums(real *to, const real *sums, int count, real *staging) {
    const int thread = (int)threadIdx.x, warp = thread / WARP;
    for (int start = 0; start < count; start += WARP) {
        const int lanes = count - start < WARP ? count - start : WARP;
        for (int c = 0; c < lanes; c++) {
            real sum = warp_sum(sums[start + c]);
            if (thread % WARP == 0) staging[c * WARPS + warp] = sum;
        }
        __syncthreads();
        if (thread < lanes) {
            real sum = 0;
            for (int w = 0; w < WARPS; w++) sum += staging[thread * WARPS + w];
            to[start + thread] += sum;
        }
        __syncthreads();
    }
}

/* to[head][index[e]] += value[head][e] for e < count, in order, for each head; to[heads][size], value[heads][count].
 * index_stride: the distance between the indices of successive heads; 0 if all heads share the indices. */
INLINE void add_listed(real *to, int heads, int size, const int *index, size_t index_stride, const real *value,
                       size_t count) {
    for (int c = (int)threadIdx.x; c < heads * size; c += THREADS) {
        const int h = c / size, element = c % size;
        real sum = 0;
#pragma unroll 8
        for (size_t e = 0; e < count; e++) sum += index[h * index_stride + e] == element ? value[h * count + e] : 0;
        to[c] += sum;
    }
}

/* The sum of an entry's gradients over all heads; the gradients of successive heads are `stride` elements apart. */
INLINE real sum_heads(const real *gradient, size_t stride) {
    real sum = 0;
    for (int h = 0; h < HEADS; h++) sum += gradient[h * stride];
    return sum;
}

/* Sums over some pairs of a query and a key; pairs[T keys][T queries] has a number for each pair:
 *   sum_keys            pairs of query i
 *   sum_queries         pairs of key j
 *   sum_diagonal        pairs with query - key = o
 *   sum_antidiagonal    pairs with query + key = t */
INLINE real sum_keys(const real *pairs, int i, int T) {
    real sum = 0;
    for (int j = 0; j < T; j++) sum += pairs[(size_t)j * T + i];
    return sum;
}

INLINE real sum_queries(const real *pairs, int j, int T) {
    real sum = 0;
    for (int i = 0; i < T; i++) sum += pairs[(size_t)j * T + i];
    return sum;
}

INLINE real sum_diagonal(const real *pairs, int o, int T) {
    real sum = 0;
    for (int i = o > 0 ? o : 0; i < T && i - o < T; i++) sum += pairs[(size_t)(i - o) * T + i];
    return sum;
}

INLINE real sum_antidiagonal(const real *pairs, int t, int T) {
    real sum = 0;
    for (int i = t < T ? 0 : t - T + 1; i < T && i <= t; i++) sum += pairs[(size_t)(t - i) * T + i];
    return sum;
}
