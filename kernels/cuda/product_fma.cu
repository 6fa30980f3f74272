/* The inner loop of a product in the precision of `real`: every thread has 4 rows x 4 columns of a tile. */

typedef real staged; /* an element of a slab in shared memory */
enum { DEPTH = 1 };  /* of k in one staged element */

/* From a quad of neighbours along m at k, and the one at k + 1: rows k and k + 1 of a slab. */
INLINE void stage_rows(staged *to, quad first, quad second) {
    *(quad *)to = first;
    *(quad *)(to + SLAB_STRIDE) = second;
}

/* From a quad of neighbours along k at m: a column of four rows. */
INLINE void stage_column(staged *to, quad part) {
#pragma unroll
    for (int i = 0; i < 4; i++) to[i * SLAB_STRIDE] = part.v[i];
}

/* A warp has 32 rows x 16 columns: lanes that read the same quad of an operand are neighbours in pairs. */
INLINE int lane_row(void) {
    const int lane = (int)threadIdx.x % WARP;
    return (int)threadIdx.x / WARP / 4 * 32 + (lane / 8 * 2 + lane / 2 % 2) * 4;
}
INLINE int lane_column(void) {
    const int lane = (int)threadIdx.x % WARP;
    return (int)threadIdx.x / WARP % 4 * 16 + (lane / 4 % 2 * 2 + lane % 2) * 4;
}

INLINE int pair_row(int p) { return lane_row() + p / 2; }
INLINE int pair_column(int p) { return lane_column() + p % 2 * 2; }

INLINE void multiply(const staged *a, const staged *b, real sum[16]) {
    a += lane_row();
    b += lane_column();
#pragma unroll 8
    for (int k = 0; k < SLAB; k++) {
        quad x = *(const quad *)(a + k * SLAB_STRIDE), y = *(const quad *)(b + k * SLAB_STRIDE);
#pragma unroll
        for (int i = 0; i < 4; i++) {
#pragma unroll
            for (int j = 0; j < 4; j++) sum[4 * i + j] += x.v[i] * y.v[j];
        }
    }
}
