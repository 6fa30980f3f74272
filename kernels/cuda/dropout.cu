/* Dropout masks from Philox4x32-10, the same bits as on the CPU (longhand/rng.h, cpu/dropout.h): element
 * e = t * C + c of example b at a site takes piece e % 8 of block e / 8 of the stream at counter
 * (block, site, b, step), low half of each word first, and is kept where the piece >= round(65536 p). A mask is a bit
 * per element. */

/* The mask of elements 8 block .. 8 block + 7. */
INLINE unsigned char keep_byte(const unsigned int key[2], unsigned int step, unsigned int example, unsigned int site,
                               unsigned int block, unsigned int drop_below) {
    unsigned int x0 = block, x1 = site, x2 = example, x3 = step, k0 = key[0], k1 = key[1];
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned int high0 = __umulhi(0xd2511f53u, x0), high1 = __umulhi(0xcd9e8d57u, x2);
        unsigned int low0 = 0xd2511f53u * x0, low1 = 0xcd9e8d57u * x2;
        x0 = high1 ^ x1 ^ k0;
        x1 = low1;
        x2 = high0 ^ x3 ^ k1;
        x3 = low0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    const unsigned int word[4] = {x0, x1, x2, x3};
    unsigned int keep = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        keep |= ((word[i] & 0xffffu) >= drop_below ? 1u : 0u) << (2 * i);
        keep |= ((word[i] >> 16) >= drop_below ? 1u : 0u) << (2 * i + 1);
    }
    return (unsigned char)keep;
}

/* Whether the element of a mask is kept. */
INLINE bool kept(const unsigned char *keep, int element) {
    is_global(keep);
    return keep[element / 8] >> element % 8 & 1;
}

/* x = kept ? x * keep_scale : 0, `count` elements in place. */
NOINLINE void drop_rows(int count, real *x, const unsigned char *keep, real keep_scale) {
    is_global(x);
    for (int e = threadIdx.x; e < count; e += THREADS) x[e] = kept(keep, e) ? x[e] * keep_scale : 0;
    __syncthreads();
}
