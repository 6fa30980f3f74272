/* Dropout masks, one bit per element: element e = t * C + c of example b takes half-word e % 8 of Philox block e / 8 at
 * counter (block, site, b, step), low halves first, and is kept if this number is at least round(65536 p). */

/* Compares each 16-bit half of a word with the same half of `limit`: the highest bit of the half in the result is 1 if
 * the word's half is at least as large. The lower 15 bits of both halves are subtracted at once, without a borrow from
 * the other half. */
INLINE unsigned int compare_halves(unsigned int word, unsigned int limit) {
    const unsigned int high = 0x80008000u, difference = (word | high) - (limit & ~high);
    return ((word & ~limit) | ((word | ~limit) & difference)) & high;
}

/* The mask of elements 8 * block .. 8 * block + 7. */
INLINE unsigned char keep_byte(const unsigned int key[2], unsigned int step, unsigned int example, unsigned int site,
                               unsigned int block, unsigned int drop_below) {
    unsigned int word[4];
    philox(key, block, site, example, step, word);
    unsigned int keep = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) keep |= compare_halves(word[i], drop_below << 16 | drop_below) >> (15 - 2 * i);
    return (unsigned char)(keep | keep >> 15);
}

/* The lowest bit is the mask of the element; the next bits are the masks of later elements, up to the next byte. */
INLINE unsigned int mask_bits(const unsigned char *keep, int element) {
    assume_global(keep);
    return keep[element / 8] >> element % 8;
}

/* x = kept ? x * keep_scale : 0, `count` elements in place. */
NOINLINE void drop_rows(int count, real *x, const unsigned char *keep, real keep_scale) {
    assume_global(x);
    for (int e = threadIdx.x; e < count; e += THREADS) x[e] = mask_bits(keep, e) & 1 ? x[e] * keep_scale : 0;
    __syncthreads();
}
