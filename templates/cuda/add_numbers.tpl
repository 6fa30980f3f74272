/* to += from */
INLINE void add_numbers(int count, const real *from, real *to) {
    assume_global(from);
    assume_global(to);
    for (int e = threadIdx.x; e < count; e += THREADS) to[e] += from[e];
    __syncthreads();
}
