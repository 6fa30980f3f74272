/* Random words, the same as on the CPU: word[4] = Philox4x32-10 at counter (block, site, example, step) of
 * longhand/rng.h. Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3". Reference: lh_philox. */
INLINE void philox(const unsigned int key[2], unsigned int block, unsigned int site, unsigned int example,
                   unsigned int step, unsigned int word[4]) {
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
    word[0] = x0;
    word[1] = x1;
    word[2] = x2;
    word[3] = x3;
}
