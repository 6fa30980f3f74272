/* Columns: D vectors for LANES rows (tokens) of D channels, with one vector per channel and one row per lane. Functions
 * transpose rows and columns, and compute products and weighted sums. Other functions write and read the tiles in which
 * decoding caches keys and values.
 *
 * Before a transpose, the rows fill D vectors without gaps. If D is a power of two, the binary index of an element
 * consists of the digits of its row, then the digits of its channel. A pass separates even and odd elements, which
 * moves the last digit of each index to the front. After log2(D) passes the digits of the channel come first. Each pass
 * needs one shuffle per vector. Rows with another D are copied element by element.
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

/* Returns a[first], b[first], a[first + 1], b[first + 1], ... */
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

/* Returns a[0], b[0], a[1], b[1], ... in 2 D lanes. */
INLINE vector load_pair(const int D, const real *a, const real *b) {
    return interleave_elements(load_first(a, D), load_first(b, D), 0);
}

/* The reverse of load_pair. */
INLINE void store_pair(const int D, vector pair, real *a, real *b) {
    store_first(a, take_every_second(pair, pair, 0), D);
    store_first(b, take_every_second(pair, pair, 1), D);
}

/* Returns a[0], ..., a[first - 1], b[0], b[1], ... */
INLINE vector append_elements(vector a, vector b, const int first) {
    bits source_lane;
    UNROLL
    for (int i = 0; i < LANES; i++) source_lane[i] = i < first ? i : LANES + i - first;
    return shuffle(a, b, source_lane);
}

/* Transposes D vectors in place; D is a power of two. */
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

/* The reverse of rows_to_columns. */
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

/* Reads LANES rows of D channels, from row `first` on, into D vectors without gaps. Row T - 1 replaces all rows after
 * it. */
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

/* column[d][lane] = rows[first + lane][d] * scale. Lanes beyond row T - 1 repeat row T - 1, so that their unused values
 * are finite. If D < LANES, may read LANES elements from the start of a row. */
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

/* column[d][lane] = rows[offset[lane] + d]. If D < LANES, may read LANES elements from an offset on. */
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

/* Lane i of sum[u] = the scalar product of two rows: row i of the columns, and row u of `row`, whose rows are `stride`
 * apart. The N sums are interleaved, because the additions of one sum depend on each other. */
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

/* Returns the number of elements of a cache of keys and values for `count` tokens. A tile holds LANES tokens: first the
 * keys as columns [width][LANES], then the values as rows [LANES][width]. */
INLINE size_t tiled_elements(const int width, int count) { return 2 * (size_t)width * (size_t)round_up(count, LANES); }

/* Copies keys and values of tokens [from, to) to the tiles. Rows of `key` are `stride` apart and hold a token's key
 * [width], then its value [width]. width: a multiple of LANES. */
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

/* logits[h] = the products of one query with the LANES keys of a tile, in head h of H heads with D channels.
 * columns: pointer to the tile's column of channel 0 of head 0. The loops equal the loops of dot_rows, so that the
 * compiler generates the same fused multiply-adds, and results have the same bits. */
INLINE void dot_heads(const int D, const int H, const real *query, const real *restrict columns, vector *logits) {
    UNROLL
    for (int h = 0; h < H; h++) logits[h] = load(columns + h * D * LANES) * query[h * D];
    UNROLL
    for (int d = 1; d < D; d++) {
        UNROLL
        for (int h = 0; h < H; h++) logits[h] += load(columns + (h * D + d) * LANES) * query[h * D + d];
    }
}

/* Writes the first `count` lanes of H columns to rows [count][H], in whole vectors; overwrites the columns. H: a power
 * of two, at most LANES. */
INLINE void store_heads(const int H, int count, vector *columns, real *restrict rows) {
    columns_to_rows(H, columns);
    UNROLL
    for (int k = 0; k < H; k++)
        if (k * LANES < count * H) store(rows + k * LANES, columns[k]);
}

enum { SUM_TILE = 8 /* number of channels that are summed at a time; the sums fit in registers at every level */ };

/* sum[d] = sum over j < count of weights[j] * rows[j][d], for d < C; C <= SUM_TILE. Rows are `stride` apart. */
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

/* sum[D] = the weighted sum of `count` rows of D channels, in the order of rows; weights [count][LANES]. */
INLINE void weighted_rows(const int D, int count, const real *weights, int stride, const real *restrict rows,
                          vector *sum) {
    const int whole = D / SUM_TILE * SUM_TILE;
    for (int d = 0; d < whole; d += SUM_TILE) weighted_channels(SUM_TILE, count, weights, stride, rows + d, sum + d);
    if (D > whole) weighted_channels(D - whole, count, weights, stride, rows + whole, sum + whole);
}

/* rows[first + lane][j] = columns[j][lane] * factor[lane], for rows below T. A row has S elements. */
INLINE void write_rows(int T, int S, int first, const real *columns, vector factor, real *rows) {
    for (int i = 0; i < LANES && first + i < T; i++) {
        real *row = rows + (size_t)(first + i) * (size_t)S;
        for (int j = 0; j < S; j++) row[j] = columns[j * LANES + i] * factor[i];
    }
}

#endif
