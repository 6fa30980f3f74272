/* The inner loop of a product in the precision of `real`: a thread computes 4 x 4 of every 32 x 16 results. */

typedef real staged; /* an element of a slab in shared memory */
enum { TALLEST = sizeof(real) == 4 ? 2 : 1 /* the largest number of slabs of rows in a tile, limited by registers */ };

/* The offset of row k, column m in a slab. A warp that writes eight rows of four columns at once uses all banks. */
INLINE int slab_index(int k, int m) { return k * TILE + (m ^ (k & 28)); }

/* Stages two quads of adjacent elements along m in a slab: `first` at row k, which is even, `second` at row k + 1. */
INLINE void stage_rows(staged *slab, int k, int m, quad first, quad second) {
    staged *to = slab + slab_index(k, m);
    *(quad *)to = first;
    *(quad *)(to + TILE) = second;
}

/* Stages a quad of adjacent elements along k, from row k, a multiple of 4, in column m. */
INLINE void stage_column(staged *slab, int k, int m, quad part) {
    staged *to = slab + slab_index(k, m);
#pragma unroll
    for (int i = 0; i < 4; i++) to[i * TILE] = part.v[i];
}

/* A lane's first row and first column of results. Lanes 2 n and 2 n + 1 have the same rows; lanes 4 n + m and
 * 4 n + m + 2, for m < 2, have the same columns. Lanes with the same rows or columns read the same quad of an
 * operand. */
INLINE int lane_row(void) {
    const unsigned int lane = threadIdx.x % WARP;
    return (int)(lane / 8 * 2 + lane / 2 % 2) * 4;
}
INLINE int lane_column(void) {
    const unsigned int lane = threadIdx.x % WARP;
    return (int)(lane / 4 % 2 * 2 + lane % 2) * 4;
}

/* A lane's results are 4 x 2 pairs of adjacent elements. Pair (i, j) begins pair_row(i) rows and pair_column(j) columns
 * after the lane's first result; pair_sum returns the index of its first sum. */
INLINE int pair_row(const int i) { return i; }
INLINE int pair_column(const int j) { return 2 * j; }
INLINE int pair_sum(const int i, const int j) { return 4 * i + 2 * j; }

/* Adds the products over all k of the slabs to the sums of a warp: 32 rows, which begin at offset a in the slabs, by
 * 16 * units columns, which begin at offset b. Elements with k from `depth` on are 0. */
INLINE void multiply(const int units, int depth, const staged *slabs, int a, int b, real *sum) {
    const int step = 8 / units;
    a += lane_row();
    b += lane_column();
#pragma unroll 1
    for (int first = 0; first < SLAB && first < depth; first += step) {
#pragma unroll
        for (int k = first; k < first + step; k++) {
            const quad x = *(const quad *)(slabs + slab_index(k, a));
#pragma unroll
            for (int u = 0; u < units; u++) {
                const quad y = *(const quad *)(slabs + slab_index(k, b + 16 * u));
#pragma unroll
                for (int e = 0; e < 16; e++) sum[16 * u + e] += x.v[e / 4] * y.v[e % 4];
            }
        }
    }
}
