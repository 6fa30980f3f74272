/* The inner loop of a product on tensor cores: operands rounded to tf32 (10 bits of fraction), sums in float32. A warp
 * has 32 rows x 16 columns of a tile, as two by two results of m16n8k8. */

typedef unsigned int staged;
enum { DEPTH = 1 };

INLINE void stage_rows(staged *to, quad first, quad second) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        to[i] = to_tf32(first.v[i]);
        to[SLAB_STRIDE + i] = to_tf32(second.v[i]);
    }
}

INLINE void stage_column(staged *to, quad part) {
#pragma unroll
    for (int i = 0; i < 4; i++) to[i * SLAB_STRIDE] = to_tf32(part.v[i]);
}

INLINE void multiply_step(const unsigned int a[4], const unsigned int b[2], float sum[4]) { mma_tf32(sum, a, b); }
