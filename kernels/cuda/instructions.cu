/* Instructions that C++ has no words for: the space of an address, and the order of writes and reads across blocks. */

/* Addresses that were read from shared memory could lie anywhere, for all the compiler knows: told that one is of global
 * memory, it takes the shorter instructions, and a store through it cannot change what lies in shared memory. */
INLINE void is_global(const void *address) { __builtin_assume(__isGlobal(address)); }

/* An address that the compiler computes once: otherwise it adds up the offsets of elements again for every access. */
INLINE const real *computed(const real *address) {
    const real *once;
    asm("mov.u64 %0, %1;" : "=l"(once) : "l"(address));
    is_global(once);
    return once;
}

/* Adds an arrival, a release: whoever counts it with an acquire sees all that this thread wrote before, and all that it
 * had seen. */
INLINE void arrive(unsigned int *arrivals) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" : : "l"(__cvta_generic_to_global(arrivals)) : "memory");
}

INLINE unsigned int count_arrivals(const unsigned int *arrivals) {
    unsigned int count;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(count)
                 : "l"(__cvta_generic_to_global(arrivals))
                 : "memory");
    return count;
}
