/* to = 0 */
INLINE void clear_numbers(int count, real *to) {
    assume_global(to);
    for (int e = threadIdx.x; e < count; e += THREADS) to[e] = 0;
    __syncthreads();
}
