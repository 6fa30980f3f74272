/* Dropout masks, one bit per element. Element e = t * C + c of example b belongs to the Philox block at counter
 * (e / 8, site, b, step) and has 16-bit half-word e % 8 of this block; the low half of a word comes before its high
 * half. The element is kept if its half-word is at least round(65536 p). */

/* Compares each 16-bit half of a word with the same half of `limit`. In the result, the highest bit of a half is 1
 * if the half of the word is not smaller than the half of `limit`; all other bits are 0. One subtraction processes
 * the lower 15 bits of both halves; the bits of `high` are set before it, so the lower half borrows nothing from the
 * upper half. */
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

/* The lowest bit is the mask of the element; the next bits are the masks of the elements after it, up to the end of
 * its byte. */
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
