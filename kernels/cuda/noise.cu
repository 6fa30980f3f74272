/* Standard normal numbers for the noise on embeddings (Box and Muller 1958). Element e = t * C + c of example b gets
 * the normal number with index e % 4 of the Philox block at counter (e / 4, site, b, step). */

INLINE real noise_uniform(unsigned int word) { return ((real)(word >> 9) + (real)0.5) * (real)0x1p-23; }

/* The normal numbers of the four elements of a Philox block. `number` is the index of this block, which has the
 * elements 4 * number to 4 * number + 3. */
INLINE quad normal_quad(const unsigned int key[2], unsigned int step, unsigned int example, unsigned int site,
                        unsigned int number) {
    unsigned int word[4];
    philox(key, number, site, example, step, word);
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
