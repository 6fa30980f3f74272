/* Geometric attention: query i tries the keys outwards, i + 1, i - 1, i + 2, ..., until one matches. The index of
 * the first step is 2. */

/* The key that query i tries at a step (2 or more); the key may lie outside the sequence. */
INLINE int find_key(int i, int step) { return step % 2 == 0 ? i + step / 2 : i - step / 2; }
INLINE bool key_exists(int j, int T) { return (unsigned int)j < (unsigned int)T; }

/* The last step at which query i may try a key of the sequence. */
INLINE int last_step(int i, int T) { return 2 * (i > T - 1 - i ? i : T - 1 - i) + 1; }

/* The offset of the pair of query i and key j in an array [(key - query) modulo T][query]. */
INLINE size_t pair_index(int i, int j, int T) { return (size_t)(j < i ? j - i + T : j - i) * T + i; }

/* to[k] = the sum of numbers[k * count] to numbers[(k + 1) * count - 1], in a fixed order, for k < sums. */
INLINE void add_numbers(int sums, int count, const real *numbers, real *to) {
    for (int k = 0; k < sums; k++) {
        const double sum = block_sum(sum_rows(count, 1, numbers + (size_t)k * count, 1));
        if (threadIdx.x == 0) to[k] = (real)sum;
    }
    __syncthreads();
}
