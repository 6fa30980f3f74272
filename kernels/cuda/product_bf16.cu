/* The inner loop of a product on tensor cores: operands rounded to bfloat16, two neighbours along k in one word, sums
 * in float32. A warp has 32 rows x 16 columns of a tile, as two by two results of m16n8k16. */

typedef unsigned int staged;
enum { DEPTH = 2 };

INLINE void stage_rows(staged *to, quad first, quad second) {
#pragma unroll
    for (int i = 0; i < 4; i++) to[i] = pack_bf16(first.v[i], second.v[i]);
}

INLINE void stage_column(staged *to, quad part) {
    to[0] = pack_bf16(part.v[0], part.v[1]);
    to[SLAB_STRIDE] = pack_bf16(part.v[2], part.v[3]);
}

INLINE void multiply_step(const unsigned int a[4], const unsigned int b[2], float sum[4]) { mma_bf16(sum, a, b); }
