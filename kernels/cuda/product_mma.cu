/* The inner loop of a product on tensor cores: every 32 x 16 results of a warp are two by two fragments of 16 x 8. Lane
 * 4 g + t holds rows g and g + 8 and columns 2 t and 2 t + 1 of each fragment. */

typedef unsigned int staged;
enum { TALLEST = 2 /* the largest number of slabs of rows in a tile */ };

struct __align__(16) staged_quad {
    staged v[4];
};

/* The offset in a slab of the word that holds element k of column m; a word has DEPTH elements and is in row k / DEPTH.
 * Equal columns of four successive rows are eight banks apart; when a warp writes eight rows of four columns at
 * once, all words are in different banks. */
INLINE int slab_index(int k, int m) {
    const int row = k / DEPTH;
    return row * TILE + (m ^ (row % 4 * 8) ^ (row & 28));
}

/* Stages two quads of adjacent elements along m in a slab: `first` at row k, which is even, `second` at row k + 1. */
INLINE void stage_rows(staged *slab, int k, int m, quad first, quad second) {
#pragma unroll
    for (int row = 0; row < 2; row += DEPTH) {
        staged_quad words;
#pragma unroll
        for (int i = 0; i < 4; i++) words.v[i] = word(row ? second.v[i] : first.v[i], second.v[i]);
        *(staged_quad *)(slab + slab_index(k + row, m)) = words;
    }
}

/* Stages a quad of adjacent elements along k, from row k, a multiple of 4, in column m. */
INLINE void stage_column(staged *slab, int k, int m, quad part) {
#pragma unroll
    for (int i = 0; i < 4; i += DEPTH) slab[slab_index(k + i, m)] = word(part.v[i], part.v[i + DEPTH - 1]);
}

/* A lane's first row and first column of results. */
INLINE int lane_row(void) { return (int)(threadIdx.x % WARP / 4); }
INLINE int lane_column(void) { return (int)(threadIdx.x % 4 * 2); }

/* A lane's results are 4 x 2 pairs of adjacent elements. Pair (i, j) begins pair_row(i) rows and pair_column(j) columns
 * after the lane's first result; pair_sum returns the index of its first sum. */
INLINE int pair_row(const int i) { return 8 * i; }
INLINE int pair_column(const int j) { return 8 * j; }
INLINE int pair_sum(const int i, const int j) { return i / 2 * 8 + j * 4 + i % 2 * 2; }

/* The offset of a lane's element that is `row` rows (a multiple of 4) and `column` columns (a multiple of 8) after the
 * element at `from`. */
INLINE int shift(int from, int row, const int column) { return (from ^ (row & 28) ^ column) + row * TILE; }

/* Adds the products over all k of the slabs to the sums of a warp. The sums are 32 rows of results, which belong to
 * the columns from a on in the slabs, by 16 * units columns, which belong to the columns from b on. Elements with k
 * from `depth` on are 0. */
INLINE void multiply(const int units, int depth, const staged *slabs, int a, int b, real *sum) {
    const int t = threadIdx.x % 4, g = threadIdx.x % WARP / 4, step = 16 / units;
    a = slab_index(t * DEPTH, a + g);
    b = slab_index(t * DEPTH, b + g);
#pragma unroll 1
    for (int first = 0; first < SLAB / DEPTH && first * DEPTH < depth; first += step) {
        const int start_a = shift(a, first, 0), start_b = shift(b, first, 0);
#pragma unroll
        for (int row = 0; row < step; row += 8) {
            unsigned int x[2][4];
#pragma unroll
            for (int e = 0; e < 8; e++)
                x[e / 4][e % 4] = slabs[shift(start_a, row + e / 2 % 2 * 4, e / 4 * 16 + e % 2 * 8)];
#pragma unroll
            for (int j = 0; j < 2 * units; j++) {
                const unsigned int y[2] = {slabs[shift(start_b, row, 8 * j)], slabs[shift(start_b, row + 4, 8 * j)]};
#pragma unroll
                for (int i = 0; i < 2; i++) multiply_step(x[i], y, sum + 16 * (j / 2) + (2 * i + j % 2) * 4);
            }
        }
    }
}
