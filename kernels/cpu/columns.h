/* Transposes between rows of tokens and columns of channels: LANES rows of D channels become D vectors, the columns,
 * with one row per lane. Also products and weighted sums of columns, and the tiles in which decoding caches keys and
 * values.
 *
 * LANES rows of D channels fill D vectors in memory order. If D is a power of two, the binary digits of an element's
 * index in these vectors are the digits of its row, then the digits of its channel, and a transpose rotates all these
 * digits. Separating even and odd elements rotates them by one digit, so log2(D) such passes transpose. Each pass needs
 * one shuffle per vector. Rows with another D are copied element by element.
 */
#ifndef LONGHAND_KERNELS_COLUMNS_H
#define LONGHAND_KERNELS_COLUMNS_H

#include "kernels/cpu/vector.h"

enum { WIDEST_HEAD = 256 /* maximum number of channels of a head */ };

/* Every second element of the concatenation of a and b, from element `odd` (0 or 1) on. */
INLINE vector take_every_second(vector a, vector b, const int odd) {
    bits source_lane;
    UNROLL
    for (int i = 0; i < LANES; i++) source_lane[i] = 2 * i + odd;
    return shuffle(a, b, source_lane);
}

/* Elements of a, from index `first` on, alternating with the elements of b that have the same indices. */
INLINE vector interleave_elements(vector a, vector b, const int first) {
    bits source_lane;
    UNROLL
    for (int i = 0; i < LANES; i++) source_lane[i] = first + i / 2 + i % 2 * LANES;
    return shuffle(a, b, source_lane);
}

/* p[0] and p[1], alternating over the lanes. */
INLINE vector broadcast_pair(const real *p) {
#if REAL_BYTES == 4
    typedef int64_t pairs __attribute__((vector_size(LH_VECTOR_BYTES)));
    int64_t pair;
    memcpy(&pair, p, sizeof pair);
    return (vector)(pair - (pairs){0});
#elif LH_VECTOR_BYTES == 64
    return (vector)_mm512_broadcast_f64x2(_mm_loadu_pd(p));
#elif LH_VECTOR_BYTES == 32
    return (vector)_mm256_broadcast_pd((const __m128d *)p);
#else
    return load(p);
#endif
}

/* Loads the first `count` elements at p, fewer than LANES; the other lanes are 0. */
INLINE vector load_first(const real *p, const int count) {
#if LH_VECTOR_BYTES == 64 && REAL_BYTES == 4
    return (vector)_mm512_maskz_loadu_ps((__mmask16)((1 << count) - 1), p);
#else
    vector x = {0};
    memcpy(&x, p, (size_t)count * sizeof(real));
    return x;
#endif
}

INLINE void store_first(real *p, vector x, const int count) {
#if LH_VECTOR_BYTES == 64 && REAL_BYTES == 4
    _mm512_mask_storeu_ps(p, (__mmask16)((1 << count) - 1), (__m512)x);
#else
    memcpy(p, &x, (size_t)count * sizeof(real));
#endif
}

/* Interleaves D elements of a and D elements of b into 2 D lanes of a vector; store_pair does the reverse. */
INLINE vector load_pair(const int D, const real *a, const real *b) {
    return interleave_elements(load_first(a, D), load_first(b, D), 0);
}

INLINE void store_pair(const int D, vector pair, real *a, real *b) {
    store_first(a, take_every_second(pair, pair, 0), D);
    store_first(b, take_every_second(pair, pair, 1), D);
}

/* a with its lanes from `first` on replaced by the first lanes of b. */
INLINE vector append_elements(vector a, vector b, const int first) {
    bits source_lane;
    UNROLL
    for (int i = 0; i < LANES; i++) source_lane[i] = i < first ? i : LANES + i - first;
    return shuffle(a, b, source_lane);
}

/* Transposes D vectors in place, from rows to columns or back, in log2(D) passes. */
INLINE void rows_to_columns(const int D, vector *x) {
    UNROLL
    for (int pass = 1; pass < D; pass *= 2) {
        vector y[WIDEST_HEAD];
        UNROLL
        for (int k = 0; k < D / 2; k++) {
            y[k] = take_every_second(x[2 * k], x[2 * k + 1], 0);
            y[k + D / 2] = take_every_second(x[2 * k], x[2 * k + 1], 1);
        }
        UNROLL
        for (int k = 0; k < D; k++) x[k] = y[k];
    }
}

INLINE void columns_to_rows(const int D, vector *x) {
    UNROLL
    for (int pass = 1; pass < D; pass *= 2) {
        vector y[WIDEST_HEAD];
        UNROLL
        for (int k = 0; k < D / 2; k++) {
            y[2 * k] = interleave_elements(x[k], x[k + D / 2], 0);
            y[2 * k + 1] = interleave_elements(x[k], x[k + D / 2], LANES / 2);
        }
        UNROLL
        for (int k = 0; k < D; k++) x[k] = y[k];
    }
}

/* Reads LANES rows of D channels, from row `first` on, into D vectors, without gaps between rows. Rows beyond row T - 1
 * are copies of that row. */
INLINE void read_rows(const int D, int T, int first, int stride, const real *restrict rows, vector *x) {
    const int per_vector = D < LANES ? LANES / D : 1; /* rows in one vector */
    const int per_row = D < LANES ? 1 : D / LANES;    /* vectors in one row */
    UNROLL
    for (int k = 0; k < D; k++) {
        UNROLL
        for (int r = 0; r < per_vector; r++) {
            int row = first + (D < LANES ? k * per_vector + r : k / per_row);
            const real *source = rows + (size_t)(row < T ? row : T - 1) * (size_t)stride + k % per_row * LANES;
            x[k] = r == 0 ? load(source) : append_elements(x[k], load(source), r * D);
        }
    }
}

INLINE int is_power_of_two(const int D) { return (D & (D - 1)) == 0; }

/* Does the work of load_columns if D is no power of two. */
INLINE void gather_columns(const int D, int T, int first, int stride, const real *restrict rows, vector *column) {
    real lanes[WIDEST_HEAD][LANES];
    for (int i = 0; i < LANES; i++) {
        int row = first + i < T ? first + i : T - 1;
        for (int d = 0; d < D; d++) lanes[d][i] = rows[(size_t)row * (size_t)stride + d];
    }
    for (int d = 0; d < D; d++) column[d] = load(lanes[d]);
}

/* Does the work of store_columns for `count` rows if D is no power of two. */
INLINE void scatter_columns(const int D, int count, int stride, const vector *column, real *restrict rows) {
    for (int d = 0; d < D; d++)
        for (int i = 0; i < count; i++) rows[(size_t)i * (size_t)stride + d] = column[d][i];
}

/* column[d][lane] = rows[first + lane][d] * scale. Lanes beyond row T - 1 repeat that row: their values are finite and
 * never used. May read LANES elements from the start of a row that has fewer. */
INLINE void load_columns(const int D, int T, int first, int stride, const real *restrict rows, real scale,
                         vector *column) {
    if (is_power_of_two(D)) {
        read_rows(D, T, first, stride, rows, column);
        rows_to_columns(D, column);
    } else {
        gather_columns(D, T, first, stride, rows, column);
    }
    UNROLL
    for (int d = 0; d < D; d++) column[d] *= scale;
}

/* column[d][lane] = rows[offset[lane] + d]. May read LANES elements at an offset if D is smaller. */
INLINE void load_scattered(const int D, const real *restrict rows, const int32_t *restrict offset, vector *column) {
    const int per_vector = D < LANES ? LANES / D : 1; /* rows in one vector */
    const int per_row = D < LANES ? 1 : D / LANES;
    if (!is_power_of_two(D)) {
        for (int d = 0; d < D; d++)
            for (int i = 0; i < LANES; i++) column[d][i] = rows[offset[i] + d];
        return;
    }
    UNROLL
    for (int k = 0; k < D; k++) {
        UNROLL
        for (int r = 0; r < per_vector; r++) {
            int row = D < LANES ? k * per_vector + r : k / per_row;
            const real *source = rows + offset[row] + k % per_row * LANES;
            column[k] = r == 0 ? load(source) : append_elements(column[k], load(source), r * D);
        }
    }
    rows_to_columns(D, column);
}

/* rows[first + lane][d] = column[d][lane] for rows below T; column is overwritten. */
INLINE void store_columns(const int D, int T, int first, int stride, vector *column, real *restrict rows) {
    real packed[LANES * WIDEST_HEAD] __attribute__((aligned(64)));
    int count = T - first < LANES ? T - first : LANES;
    if (!is_power_of_two(D)) {
        scatter_columns(D, count, stride, column, rows + (size_t)first * (size_t)stride);
        return;
    }
    columns_to_rows(D, column);
    UNROLL
    for (int d = 0; d < D; d++) store(packed + d * LANES, column[d]);
    for (int i = 0; i < count; i++)
        memcpy(rows + (size_t)(first + i) * (size_t)stride, packed + i * D, D * sizeof(real));
}

/* x [count] = 0 */
INLINE void clear_columns(const int count, vector *x) {
    UNROLL
    for (int d = 0; d < count; d++) x[d] = (vector){0};
}

/* x [count] *= factor */
INLINE void scale_columns(const int count, vector factor, vector *x) {
    UNROLL
    for (int d = 0; d < count; d++) x[d] *= factor;
}

/* sum [N] = the products of LANES rows, given as columns, with each of N rows that are `stride` apart. The N products
 * are interleaved, because the additions of one product depend on each other. */
INLINE void dot_rows(const int D, const int N, const vector *column, int stride, const real *restrict row,
                     vector *sum) {
    UNROLL
    for (int u = 0; u < N; u++) sum[u] = column[0] * row[u * stride];
    UNROLL
    for (int d = 1; d < D; d++) {
        UNROLL
        for (int u = 0; u < N; u++) sum[u] += column[d] * row[u * stride + d];
    }
}

INLINE vector dot_row(const int D, const vector *column, const real *restrict row) {
    vector sum;
    dot_rows(D, 1, column, 0, row, &sum);
    return sum;
}

/* The number of elements of decoding's cache of keys and values for `count` tokens. The cache has tiles of LANES
 * tokens: keys channel by channel [width][LANES], then values row by row [LANES][width]. */
INLINE size_t tiled_elements(const int width, int count) { return 2 * (size_t)width * (size_t)round_up(count, LANES); }

/* Copies rows of tokens [from, to) to the tiles; a token's value lies `width` elements, a multiple of LANES, after its
 * key. */
INLINE void put_in_tiles(const int width, int from, int to, int stride, const real *restrict key,
                         real *restrict tiles) {
    for (int j = from, next; j < to; j = next) {
        const real *row = key + j * stride;
        real *tile = tiles + tiled_elements(width, j / LANES * LANES);
        const bool is_whole = j % LANES == 0 && j + LANES <= to;
        next = is_whole ? j + LANES : j + 1;
        for (int d = 0; is_whole && d < width; d += LANES) {
            vector x[LANES];
            load_columns(LANES, LANES, 0, stride, row + d, 1, x);
            UNROLL
            for (int k = 0; k < LANES; k++) store(tile + (d + k) * LANES, x[k]);
        }
        for (int d = 0; !is_whole && d < width; d++) tile[d * LANES + j % LANES] = row[d];
        for (int i = j; i < next; i++, row += stride)
            memcpy(tile + (LANES + i % LANES) * width, row + width, (size_t)width * sizeof(real));
    }
}

/* logits [H] = the products of one query with the LANES keys of a tile, for each of H heads of D channels; columns:
 * pointer to channel 0 of the first head in the tile; each channel has a vector. The loops equal the loops of dot_rows,
 * so that the compiler generates the same fused multiply-adds, and the results have the same bits. */
INLINE void dot_heads(const int D, const int H, const real *query, const real *restrict columns, vector *logits) {
    UNROLL
    for (int h = 0; h < H; h++) logits[h] = load(columns + h * D * LANES) * query[h * D];
    UNROLL
    for (int d = 1; d < D; d++) {
        UNROLL
        for (int h = 0; h < H; h++) logits[h] += load(columns + (h * D + d) * LANES) * query[h * D + d];
    }
}

/* rows [count][H] = the first `count` lanes of H columns, written in whole vectors; columns are overwritten. H: a power
 * of two, at most LANES. */
INLINE void store_heads(const int H, int count, vector *columns, real *restrict rows) {
    columns_to_rows(H, columns);
    UNROLL
    for (int k = 0; k < H; k++)
        if (k * LANES < count * H) store(rows + k * LANES, columns[k]);
}

enum { SUM_TILE = 8 /* number of channels that are summed at a time: they fit in registers at every level */ };

/* sum[d] = sum over rows of weight * channel d, for C <= SUM_TILE channels. */
INLINE void weighted_channels(const int C, int count, const real *weights, int stride, const real *restrict rows,
                              vector *sum) {
    vector part[SUM_TILE];
    UNROLL
    for (int d = 0; d < C; d++) part[d] = (vector){0};
    for (int j = 0; j < count; j++) {
        vector weight = load(weights + j * LANES);
        UNROLL
        for (int d = 0; d < C; d++) part[d] += weight * rows[j * stride + d];
    }
    UNROLL
    for (int d = 0; d < C; d++) sum[d] = part[d];
}

/* sum [D] = weighted sum of `count` rows of D channels, in the order of rows; weights [count][LANES]. */
INLINE void weighted_rows(const int D, int count, const real *weights, int stride, const real *restrict rows,
                          vector *sum) {
    const int whole = D / SUM_TILE * SUM_TILE;
    for (int d = 0; d < whole; d += SUM_TILE) weighted_channels(SUM_TILE, count, weights, stride, rows + d, sum + d);
    if (D > whole) weighted_channels(D - whole, count, weights, stride, rows + whole, sum + whole);
}

/* rows[first + lane][j] = columns[j][lane] * factor[lane], for the rows below T, which have S elements each. */
INLINE void write_rows(int T, int S, int first, const real *columns, vector factor, real *rows) {
    for (int i = 0; i < LANES && first + i < T; i++) {
        real *row = rows + (size_t)(first + i) * (size_t)S;
        for (int j = 0; j < S; j++) row[j] = columns[j * LANES + i] * factor[i];
    }
}

#endif
