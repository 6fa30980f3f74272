/* word[4] = Philox4x32-10 at counter (block, site, example, step) of longhand/rng.h. Source: Salmon et al. 2011,
 * "Parallel random numbers: as easy as 1, 2, 3". Reference: lh_philox. */
INLINE void philox(const unsigned int key[2], unsigned int block, unsigned int site, unsigned int example,
                   unsigned int step, unsigned int word[4]) {
    unsigned int k0 = key[0], k1 = key[1];
    word[0] = block, word[1] = site, word[2] = example, word[3] = step;
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned int high0 = __umulhi(0xd2511f53u, word[0]), high1 = __umulhi(0xcd9e8d57u, word[2]);
        unsigned int low0 = 0xd2511f53u * word[0], low1 = 0xcd9e8d57u * word[2];
        word[0] = high1 ^ word[1] ^ k0;
        word[1] = low1;
        word[2] = high0 ^ word[3] ^ k1;
        word[3] = low0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}
