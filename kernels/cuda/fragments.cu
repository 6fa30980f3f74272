/* Attention with tensor cores, whose operands are fragments: each lane of a warp holds a part of an operand.
 *
 * A warp has one or more groups of 16 rows of a head (queries or keys).
 * The first product multiplies these rows with tiles of 8 rows of the other side (keys or queries).
 * Lane 4 g + t holds rows g and g + 8 of a group, and their products with rows 2 t and 2 t + 1 of every tile.
 * The second product sums over the rows of the other side, such as weights times values.
 * A lane makes its part of operand `a` of the second product from its own results of the first.
 *
 * k: the index over which a product sums
 * word (operand_word): DEPTH adjacent elements of an operand along k
 * step: 8 DEPTH elements along k
 * width: the width of a head */

enum {
    GROUP_ROWS = 16,  /* rows of a group */
    TILE_COLUMNS = 8, /* columns of a tile of results, one for each row of the other side */
    STEP = 8 * DEPTH, /* elements along k in a step */
    PART = 2 * DEPTH  /* elements along k that a lane holds in a step */
};

#define LOG2E ((real)1.4426950408889634) /* scores are multiplied by it, so a weight is 2^score */

/* A lane's elements of a row in a step. One instruction loads them. */
struct __align__(2 * DEPTH * sizeof(stored)) row_part {
    stored v[PART];
};

/* Two adjacent results of a lane. One instruction stores them. */
struct __align__(2 * sizeof(real)) couple {
    real v[2];
};

/* tile_row: index of the lane's first row in a group, and of the row of a tile that the lane loads.
 * tile_column: index of the lane's first column in a tile.
 * part_channel: index of the lane's first channel in a step. */
INLINE int tile_row(void) { return threadIdx.x % WARP / 4; }
INLINE int tile_column(void) { return threadIdx.x % 4 * 2; }
INLINE int part_channel(void) { return threadIdx.x % 4 * PART; }

/* The lane's channels of a row in a step; channels beyond the head are 0. `row` points to the lane's first channel. */
INLINE row_part load_part(const real *row, const int step, const int width) {
    row_part x;
    assume_global(row);
#pragma unroll
    for (int i = 0; i < PART; i++) x.v[i] = 0;
    if (width % STEP == 0 || step * STEP + part_channel() < width) x = *(const row_part *)(row + step * STEP);
    return x;
}

/* Word i of a lane's part of a row, multiplied by the factor.
 * rounded: the stored elements are already multiplied and rounded. */
INLINE operand_word part_word(const bool rounded, const row_part x, const int i, const real factor) {
    const stored element = x.v[DEPTH * i], next = x.v[DEPTH * i + DEPTH - 1];
    return rounded ? stored_word(true, element, next) : word(stored_real(element) * factor, stored_real(next) * factor);
}

/* Makes operand `a` from two rows. `upper` and `lower` point to the lane's first channel of each row. */
INLINE void load_rows_of_head(const bool rounded, const real *upper, const real *lower, const int width,
                              const real factor, operand_word a[][4]) {
#pragma unroll
    for (int step = 0; step < (width + STEP - 1) / STEP; step++) {
        const row_part x = load_part(upper, step, width), y = load_part(lower, step, width);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            a[step][2 * i] = part_word(rounded, x, i, factor);
            a[step][2 * i + 1] = part_word(rounded, y, i, factor);
        }
    }
}

/* Makes the operands of all groups.
 * rows: points to the lane's first channel of row 0.
 * row: indices of the lane's rows.
 * first: number of elements to skip in each row. */
INLINE void load_groups_of_head(const int groups, const bool rounded, const real *rows, const int row[],
                                const int stride, const int first, const int width, const real factor,
                                operand_word a[][4]) {
#pragma unroll
    for (int group = 0; group < groups; group++)
        load_rows_of_head(rounded, get_row(rows, row[2 * group], stride) + first,
                          get_row(rows, row[2 * group + 1], stride) + first, width, factor,
                          a + group * ((width + STEP - 1) / STEP));
}

/* Begins the sums of each row of the lane with the row's element of `first`. */
INLINE void begin_with_rows(const int groups, const real first[], real sum[][4]) {
#pragma unroll
    for (int e = 0; e < 4 * groups; e++) sum[e / 4][e % 4] = first[e / 2];
}

/* Sets sum to one number for each column of the lane. */
INLINE void begin_with_columns(const int groups, const real first[2], real sum[][4]) {
#pragma unroll
    for (int e = 0; e < 4 * groups; e++) sum[e / 4][e % 4] = first[e % 2];
}

INLINE void begin_with_zero(const int groups, real sum[][4]) {
#pragma unroll
    for (int e = 0; e < 4 * groups; e++) sum[e / 4][e % 4] = 0;
}

/* sum[group] += the products of a group's rows with the rows of a tile.
 * row: points to the lane's first channel of row tile_row() of the tile. */
INLINE void multiply_heads(const int groups, const bool rounded, const operand_word a[][4], const real *row,
                           const int width, const real factor, real sum[][4]) {
    const int steps = (width + STEP - 1) / STEP;
#pragma unroll
    for (int step = 0; step < steps; step++) {
        const row_part x = load_part(row, step, width);
        const operand_word b[2] = {part_word(rounded, x, 0, factor), part_word(rounded, x, 1, factor)};
#pragma unroll
        for (int group = 0; group < groups; group++) multiply_step(a[group * steps + step], b, sum[group]);
    }
}

/* Makes operand `a` from a lane's results in DEPTH tiles: tiles[0], tiles[stride], ... */
INLINE void pack_tiles(const real tiles[][4], const int stride, operand_word a[4]) {
#pragma unroll
    for (int row = 0; row < 2; row++) {
        real x[PART];
#pragma unroll
        for (int i = 0; i < PART; i++) x[i] = tiles[i / 2 * stride][2 * row + i % 2];
        a[row] = word(x[0], x[DEPTH - 1]);
        a[2 + row] = word(x[DEPTH], x[PART - 1]);
    }
}

/* Multiplies results in DEPTH tiles with the rows of the other side, and adds the products to sum.
 * results[tile * groups + group]: the lane's results, such as weights.
 * sum[group * tiles + n]: the lane's sums for channels 8 n to 8 n + 7.
 * rows: points to channel tile_row() of row 0; rows are `stride` elements apart.
 * first: index of the first row of the first tile.
 * count: number of rows; later rows contribute 0.
 * zeroed: the results for later rows are already 0. */
INLINE void add_rows_of_head(const int groups, const bool zeroed, const bool rounded, const real results[][4],
                             const real *rows, const int stride, int first, int count, const int width, real sum[][4]) {
    const int tiles = (width + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const stored *row[PART];
    bool in_range[PART];
#pragma unroll
    for (int i = 0; i < PART; i++) {
        const int index = first + tile_column() + i / 2 * TILE_COLUMNS + i % 2;
        in_range[i] = index < count;
        row[i] = (const stored *)get_row(rows, min(index, count - 1), stride);
    }
#pragma unroll
    for (int n = 0; n < tiles; n++) {
        const bool is_whole = width % TILE_COLUMNS == 0 || n < width / TILE_COLUMNS;
        const int c = is_whole ? n * TILE_COLUMNS : min(n * TILE_COLUMNS, width - 1 - tile_row());
        row_part x;
#pragma unroll
        for (int i = 0; i < PART; i++) {
            const stored channel = row[i][c];
            x.v[i] = zeroed || in_range[i] ? channel : 0;
        }
        const operand_word b[2] = {part_word(rounded, x, 0, 1), part_word(rounded, x, 1, 1)};
#pragma unroll
        for (int group = 0; group < groups; group++) {
            operand_word a[4];
            pack_tiles(results + group, groups, a);
            multiply_step(a, b, sum[group * tiles + n]);
        }
    }
}

INLINE void clear_tiles(const int groups, const int width, real sum[][4]) {
    begin_with_zero(groups * ((width + TILE_COLUMNS - 1) / TILE_COLUMNS), sum);
}

/* Stores the lane's results of one of its two rows in a group, multiplied by a factor.
 * r: index of the row, 0 or 1.
 * out: points to channel tile_column() of the row. */
INLINE void store_row_of_head(const bool rounds, const real sum[][4], const int r, const int width, real factor,
                              real *out) {
    assume_global(out);
#pragma unroll
    for (int n = 0; n < (width + TILE_COLUMNS - 1) / TILE_COLUMNS; n++) {
        couple x = {{sum[n][2 * r] * factor, sum[n][2 * r + 1] * factor}};
        if (rounds) x = {{rounded_real(x.v[0]), rounded_real(x.v[1])}};
        if (width % TILE_COLUMNS == 0 || n * TILE_COLUMNS + tile_column() < width)
            *(couple *)(out + n * TILE_COLUMNS) = x;
    }
}

/* Stores the results of the lane's rows of all groups, times a factor.
 * row: index of the lane's first row.
 * count: number of rows; later rows are not stored. */
INLINE void store_groups_of_head(const int groups, const bool rounds, const real sum[][4], int row, int count,
                                 const int stride, const int width, real factor, real *to) {
    const int tiles = (width + TILE_COLUMNS - 1) / TILE_COLUMNS;
#pragma unroll
    for (int r = 0; r < 2 * groups; r++) {
        const int below = r * GROUP_ROWS / 2; /* distance of row r from the lane's first row */
        if (row + below < count)
            store_row_of_head(rounds, sum + r / 2 * tiles, r % 2, width, factor, to + below * stride);
    }
}

/* The sum over the four lanes of a row, with the same bits in each lane. */
INLINE real tile_row_sum(real x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/* The maximum over the four lanes of a row. */
INLINE real tile_row_largest(real x) {
    x = fmax(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmax(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

/* Returns the dot product of x and y, with the same bits in all lanes of a row.
 * x and y point to the lane's first channel of a row.
 * rounded: the elements of x are read from the operand `a`, where x is the lane's upper row (lower = 0) or its lower
 * row (lower = 1). */
INLINE real dot_rows_of_head(const bool rounded, const operand_word a[][4], const int lower, const real *x,
                             const real *y, const int width) {
    real sum = 0;
#pragma unroll
    for (int step = 0; step < (width + STEP - 1) / STEP; step++) {
        const row_part factor = load_part(y, step, width);
        row_part x_part;
        if (!rounded) x_part = load_part(x, step, width);
#pragma unroll
        for (int i = 0; i < PART; i++)
            sum += stored_real(rounded ? (stored)a[step][2 * (i % 2) + lower] : x_part.v[i]) * stored_real(factor.v[i]);
    }
    return tile_row_sum(sum);
}

/* Widens a lane's range [*begin, *end) until it contains the ranges of all rows of the warp. */
INLINE void widen_bounds(int *begin, int *end) {
#pragma unroll
    for (int distance = 4; distance < WARP; distance *= 2) {
        *begin = min(*begin, __shfl_xor_sync(0xffffffffu, *begin, distance));
        *end = max(*end, __shfl_xor_sync(0xffffffffu, *end, distance));
    }
}
