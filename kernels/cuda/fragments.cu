/* Attention in fragments of the tensor instruction: a warp has one or more groups of 16 rows of a head and meets the
 * rows of the other side in tiles of 8. Lane 4 g + t has rows g and g + 8 of a group, and their results with rows 2 t
 * and 2 t + 1 of every tile. So results are an operand of the second product, over the other side's rows, without an
 * exchange between lanes. Products are those of product_tf32.cu and its like: DEPTH neighbours along k in a word, 8
 * DEPTH of k in a step. `width` is that of a head. */

enum {
    GROUP_ROWS = 16,  /* of a warp at a time, or several times as many */
    TILE_COLUMNS = 8, /* rows of the other side in a tile */
    STEP = 8 * DEPTH, /* of k at a time */
    PART = 2 * DEPTH  /* of a lane in a step */
};

#define LOG2E ((real)1.4426950408889634) /* scores are in units of log 2 */

/* A lane's neighbours along a row in a step, moved together. */
typedef struct __align__(2 * DEPTH * sizeof(real)) row_part {
    real v[PART];
}
row_part;

/* Two neighbours of a lane's results, moved together. */
typedef struct __align__(2 * sizeof(real)) couple {
    real v[2];
}
couple;

/* The first of a lane's rows, and of its columns in a tile; its first channel of a row in a step. */
INLINE int tile_row(void) { return threadIdx.x % WARP / 4; }
INLINE int tile_column(void) { return threadIdx.x % 4 * 2; }
INLINE int part_channel(void) { return threadIdx.x % 4 * PART; }

/* The lane's channels of a row in a step, `row` from its first channel on; 0 beyond the head. */
INLINE row_part load_part(const real *row, const int step, const int width) {
    row_part x;
    is_global(row);
#pragma unroll
    for (int i = 0; i < PART; i++) x.v[i] = 0;
    if (width % STEP == 0 || step * STEP + part_channel() < width) x = *(const row_part *)(row + step * STEP);
    return x;
}

INLINE operand_word part_word(const real x[PART], const int i) { return word(x[DEPTH * i], x[DEPTH * i + DEPTH - 1]); }

/* The operand of two rows of the lane, each from its first channel on, times a factor. */
INLINE void load_rows_of_head(const real *upper, const real *lower, const int width, const real factor,
                              operand_word a[][4]) {
#pragma unroll
    for (int step = 0; step < (width + STEP - 1) / STEP; step++) {
        row_part x = load_part(upper, step, width), y = load_part(lower, step, width);
#pragma unroll
        for (int i = 0; i < PART; i++) {
            x.v[i] *= factor;
            y.v[i] *= factor;
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            a[step][2 * i] = part_word(x.v, i);
            a[step][2 * i + 1] = part_word(y.v, i);
        }
    }
}

/* sum[group] = the products of a group's rows with those of a tile, times a factor; `row` is that of the lane,
 * tile_row, from its first channel on. */
INLINE void multiply_heads(const int groups, const operand_word a[][4], const real *row, const int width,
                           const real factor, real sum[][4]) {
    const int steps = (width + STEP - 1) / STEP;
#pragma unroll
    for (int i = 0; i < 4 * groups; i++) sum[i / 4][i % 4] = 0;
#pragma unroll
    for (int step = 0; step < steps; step++) {
        row_part x = load_part(row, step, width);
#pragma unroll
        for (int i = 0; i < PART; i++) x.v[i] *= factor;
        const operand_word b[2] = {part_word(x.v, 0), part_word(x.v, 1)};
#pragma unroll
        for (int group = 0; group < groups; group++) multiply_step(a[group * steps + step], b, sum[group]);
    }
}

/* The operand of a lane's results of DEPTH tiles, `stride` apart. */
INLINE void pack_tiles(const real tiles[][4], const int stride, operand_word a[4]) {
#pragma unroll
    for (int row = 0; row < 2; row++) {
        real x[PART];
#pragma unroll
        for (int i = 0; i < PART; i++) x[i] = tiles[i / 2 * stride][2 * row + i % 2];
        a[row] = part_word(x, 0);
        a[2 + row] = part_word(x, 1);
    }
}

/* sum[group][tile of channels] += the products of a group's results of DEPTH tiles, [tile][group], with the rows of
 * those tiles, from `first` of `count` on, `stride` apart; `rows` begins with channel tile_row. Rows beyond the last
 * one count as 0. */
INLINE void add_rows_of_head(const int groups, const real results[][4], const real *rows, int stride, int first,
                             int count, const int width, real sum[][4]) {
    const int tiles = (width + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const real *row[PART];
    bool there[PART];
#pragma unroll
    for (int i = 0; i < PART; i++) {
        const int place = first + tile_column() + i / 2 * TILE_COLUMNS + i % 2;
        there[i] = place < count;
        row[i] = rows + min(place, count - 1) * stride;
    }
#pragma unroll
    for (int n = 0; n < tiles; n++) {
        const bool whole = width % TILE_COLUMNS == 0 || n < width / TILE_COLUMNS;
        const int c = whole ? n * TILE_COLUMNS : min(n * TILE_COLUMNS, width - 1 - tile_row());
        real x[PART];
#pragma unroll
        for (int i = 0; i < PART; i++) {
            const real channel = row[i][c];
            x[i] = there[i] ? channel : 0;
        }
        const operand_word b[2] = {part_word(x, 0), part_word(x, 1)};
#pragma unroll
        for (int group = 0; group < groups; group++) {
            operand_word a[4];
            pack_tiles(results + group, groups, a);
            multiply_step(a, b, sum[group * tiles + n]);
        }
    }
}

INLINE void clear_tiles(const int groups, const int width, real sum[][4]) {
#pragma unroll
    for (int i = 0; i < groups * ((width + TILE_COLUMNS - 1) / TILE_COLUMNS) * 4; i++) sum[i / 4][i % 4] = 0;
}

/* Stores the lane's results of row r, 0 or 1, of a group, times a factor; `to` is the row from tile_column on. */
INLINE void store_row_of_head(const real sum[][4], const int r, const int width, real factor, real *to) {
    is_global(to);
#pragma unroll
    for (int n = 0; n < (width + TILE_COLUMNS - 1) / TILE_COLUMNS; n++) {
        const couple x = {{sum[n][2 * r] * factor, sum[n][2 * r + 1] * factor}};
        if (width % TILE_COLUMNS == 0 || n * TILE_COLUMNS + tile_column() < width)
            *(couple *)(to + n * TILE_COLUMNS) = x;
    }
}

/* The sum and the largest of what the four lanes of a row have, the same bits in all of them. */
INLINE real tile_row_sum(real x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

INLINE real tile_row_largest(real x) {
    x = fmax(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmax(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

/* The product of two rows, each from the lane's first channel on, for the lanes of the row. */
INLINE real dot_rows_of_head(const real *x, const real *y, const int width) {
    real sum = 0;
#pragma unroll
    for (int step = 0; step < (width + STEP - 1) / STEP; step++) {
        const row_part a = load_part(x, step, width), b = load_part(y, step, width);
#pragma unroll
        for (int i = 0; i < PART; i++) sum += a.v[i] * b.v[i];
    }
    return tile_row_sum(sum);
}

/* The bounds of what any row of the warp meets. */
INLINE void widen_bounds(int *begin, int *end) {
#pragma unroll
    for (int distance = 4; distance < WARP; distance *= 2) {
        *begin = min(*begin, __shfl_xor_sync(0xffffffffu, *begin, distance));
        *end = max(*end, __shfl_xor_sync(0xffffffffu, *end, distance));
    }
}
