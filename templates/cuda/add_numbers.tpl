/* to += from */
INLINE void add_numbers(int count, const real *from, real *to) {
    is_global(from);
    is_global(to);
    for (int e = threadIdx.x; e < count; e += THREADS) to[e] += from[e];
    __syncthreads();
}
