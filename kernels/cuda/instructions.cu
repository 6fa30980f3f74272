/* Assumptions for the compiler, and inline PTX. */

/* Lets the compiler assume that an address is in global memory. This makes instructions shorter, and a store to the
 * address cannot change shared memory. */
INLINE void assume_global(const void *address) { __builtin_assume(__isGlobal(address)); }

/* Makes the compiler compute an address in global memory once, not again for every access. */
INLINE const real *compute_once(const real *address) {
    size_t once;
    asm("mov.u64 %0, %1;" : "=l"(once) : "l"(__cvta_generic_to_global(address)));
    return (const real *)__cvta_global_to_generic(once);
}

/* Makes the compiler compute a number once, not again for every use. */
INLINE int compute_number_once(int number) {
    int once;
    asm("mov.u32 %0, %1;" : "=r"(once) : "r"(number));
    return once;
}

/* Makes the compiler compute a distance in bytes once, not again for every use. */
INLINE long long compute_distance_once(long long bytes) {
    long long once;
    asm("mov.u64 %0, %1;" : "=l"(once) : "l"(bytes));
    return once;
}

/* The address of a row, computed once, by one instruction. Rows are `stride` elements apart. */
INLINE const real *get_row(const real *rows, int row, const int stride) {
    size_t start;
    asm("mad.wide.s32 %0, %1, %2, %3;"
        : "=l"(start)
        : "r"(row), "r"(stride * (int)sizeof(real)), "l"(__cvta_generic_to_global(rows)));
    return (const real *)__cvta_global_to_generic(start);
}

/* Adds an arrival with a release: a thread that acquires the new count sees all that this thread wrote or saw. */
INLINE void arrive(unsigned int *arrivals) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" : : "l"(__cvta_generic_to_global(arrivals)) : "memory");
}

INLINE unsigned int count_arrivals(const unsigned int *arrivals) {
    unsigned int n;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(n) : "l"(__cvta_generic_to_global(arrivals)) : "memory");
    return n;
}
