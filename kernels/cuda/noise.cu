/* Standard normal numbers for the noise on embeddings, the same draws as on the CPU (cpu/noise.h): element e = t * C + c
 * of example b takes number e % 4 of block e / 4 of the stream at counter (block, site, b, step). */

INLINE real noise_uniform(unsigned int word) { return ((real)(word >> 9) + (real)0.5) * (real)0x1p-23; }

/* Elements 4 number .. 4 number + 3. */
INLINE quad normal_quad(const unsigned int key[2], unsigned int step, unsigned int example, unsigned int site,
                        unsigned int number) {
    unsigned int x0 = number, x1 = site, x2 = example, x3 = step, k0 = key[0], k1 = key[1];
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
    quad normal;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        real size = sqrt_real(-2 * log_real(noise_uniform(word[i])));
        real angle = (real)6.283185307179586477 * noise_uniform(word[i + 1]);
        normal.v[i] = size * cos_real(angle);
        normal.v[i + 1] = size * sin_real(angle);
    }
    return normal;
}
