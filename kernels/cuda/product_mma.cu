/* What the products on tensor cores share: where the fragments of a warp lie. Lane 4 g + t holds rows g, g + 8 and
 * columns 2 t, 2 t + 1 of every 16 x 8 result. */

INLINE int pair_row(int p) {
    return (int)threadIdx.x / WARP / 4 * 32 + p / 4 * 16 + p % 2 * 8 + (int)threadIdx.x % WARP / 4;
}
INLINE int pair_column(int p) { return (int)threadIdx.x / WARP % 4 * 16 + p / 2 % 2 * 8 + (int)threadIdx.x % 4 * 2; }

INLINE void multiply(const staged *a, const staged *b, real sum[16]) {
    const int warp = threadIdx.x / WARP, g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
    a += t * SLAB_STRIDE + warp / 4 * 32 + g;
    b += t * SLAB_STRIDE + warp % 4 * 16 + g;
#pragma unroll
    for (int k = 0; k < SLAB / DEPTH; k += 8) {
        unsigned int x[2][4], y[2][2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            x[i][0] = a[k * SLAB_STRIDE + i * 16];
            x[i][1] = a[k * SLAB_STRIDE + i * 16 + 8];
            x[i][2] = a[(k + 4) * SLAB_STRIDE + i * 16];
            x[i][3] = a[(k + 4) * SLAB_STRIDE + i * 16 + 8];
            y[i][0] = b[k * SLAB_STRIDE + i * 8];
            y[i][1] = b[(k + 4) * SLAB_STRIDE + i * 8];
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
#pragma unroll
            for (int j = 0; j < 2; j++) multiply_step(x[i], y[j], sum + (2 * i + j) * 4);
        }
    }
}
