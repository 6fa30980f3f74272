/* Products of queries with sinusoids of position differences, without a vector for each pair of query and key.
 *
 * The row of a position p has C channels: first sin(p f), then cos(p f), for C / 2 frequencies f. Sines and cosines of
 * (p - q) f are sums of products of sines and cosines of p f and of q f. So a query that is rotated by its position q
 * has the same product with the row of p as the unrotated query with the row of p - q. A weight [C][D] maps a row to
 * the D channels of a head.
 */
#ifndef LONGHAND_KERNELS_ROTATED_H
#define LONGHAND_KERNELS_ROTATED_H

#include "kernels/cpu/columns.h"
#include "kernels/cpu/matmul.h"

enum {
    ROTATED_KEYS = 8, /* number of keys whose products are summed at once; buffers of rows and products hold a multiple
                       * of this number */
    ROTATED_SIDE = LANES < 8 ? LANES : 8 /* number of queries whose gradients are summed at once, side by side */
};

/* The number of weight rows that are interleaved: 2 in float if a head fills half a vector, so that two rows fill a
 * vector; else 1. */
INLINE int interleaved_rows(const int D) { return REAL_BYTES == 4 && 2 * D == LANES ? 2 : 1; }

/* The index of channel d of row c in the packed weight. */
INLINE int weight_index(const int D, int c, int d) {
    const int rows = interleaved_rows(D);
    return (c / rows * D + d) * rows + c % rows;
}

/* Packs weights[h] = [C][D] of head h from weight [C][C], whose columns are the channels of all heads. */
INLINE void pack_heads(const int D, const int C, const real *restrict weight, real *restrict weights) {
    for (int h = 0; h < C / D; h++, weights += C * D)
        for (int c = 0; c < C; c++)
            for (int d = 0; d < D; d++) weights[weight_index(D, c, d)] = weight[c * C + h * D + d];
}

/* The products of LANES queries with SIDE_BY_SIDE rows of the weight; weight: the first row. */
INLINE void dot_weight(const int D, const vector *query, const real *restrict weight, vector *sum) {
    UNROLL
    for (int u = 0; u < SIDE_BY_SIDE; u++) sum[u] = query[0] * weight[weight_index(D, u, 0)];
    UNROLL
    for (int d = 1; d < D; d++) {
        UNROLL
        for (int u = 0; u < SIDE_BY_SIDE; u++) sum[u] += query[d] * weight[weight_index(D, u, d)];
    }
}

/* rotated [C][LANES] = LANES queries (columns of D channels) times the transposed weight, rotated by the positions of
 * the queries. sinusoids: sines and cosines of the positions, `stride` elements from one channel to the next. */
INLINE void rotate_queries(const int D, const int C, const vector *query, const real *restrict weight,
                           const real *restrict sinusoids, int stride, real *restrict rotated) {
    for (int m = 0; m < C / 2; m += SIDE_BY_SIDE) {
        vector sine_part[SIDE_BY_SIDE], cosine_part[SIDE_BY_SIDE];
        dot_weight(D, query, weight + m * D, sine_part);
        dot_weight(D, query, weight + (C / 2 + m) * D, cosine_part);
        UNROLL
        for (int u = 0; u < SIDE_BY_SIDE; u++) {
            vector sine = load(sinusoids + (m + u) * stride), cosine = load(sinusoids + (C / 2 + m + u) * stride);
            store(rotated + (m + u) * LANES, sine_part[u] * cosine + cosine_part[u] * sine);
            store(rotated + (C / 2 + m + u) * LANES, cosine_part[u] * cosine - sine_part[u] * sine);
        }
    }
}

/* Writes the products [keys][LANES] of LANES rotated queries with rows [keys][C]. SIDE: the number of keys that are
 * computed side by side. */
INLINE void dot_rotated_by(const int C, const int SIDE, int keys, const real *restrict rotated,
                           const real *restrict rows, real *restrict products) {
    for (int j = 0; j < keys; j += SIDE, rows += SIDE * C, products += SIDE * LANES) {
        vector sum[ROTATED_KEYS];
        UNROLL
        for (int u = 0; u < SIDE; u++) sum[u] = (vector){0};
        for (int c = 0; c < C; c++) {
            vector channel = load(rotated + c * LANES);
            UNROLL
            for (int u = 0; u < SIDE; u++) sum[u] += channel * rows[u * C + c];
        }
        UNROLL
        for (int u = 0; u < SIDE; u++) store(products + u * LANES, sum[u]);
    }
}

/* dot_rotated_by for all keys, ROTATED_KEYS at a time, or ROTATED_KEYS - 1 if this computes fewer unused products. rows
 * and products have space up to a multiple of ROTATED_KEYS. */
INLINE void dot_rotated(const int C, int keys, const real *restrict rotated, const real *restrict rows,
                        real *restrict products) {
    const int fewer_keys = ROTATED_KEYS - 1;
    if (round_up(keys, fewer_keys) < round_up(keys, ROTATED_KEYS))
        dot_rotated_by(C, fewer_keys, keys, rotated, rows, products);
    else dot_rotated_by(C, ROTATED_KEYS, keys, rotated, rows, products);
}

/* Writes the gradients [queries][C] of rotated queries, from the gradients of products [keys][LANES]. The number of
 * queries is rounded up to a multiple of ROTATED_SIDE. */
INLINE void rotated_grad(const int C, int queries, int keys, const real *restrict dproducts, const real *restrict rows,
                         real *restrict drotated) {
    const int tile = widest_divisor(ROTATED_SIDE, OUTER_ROWS);
    outer_sums(keys, tile, round_up(queries, ROTATED_SIDE), LANES, C, dproducts, rows, drotated, OUTER_STORE);
}

/* Rotates the gradient of a query back, in place. row: the sinusoids of the query's position. */
INLINE void rotate_back(const int C, const real *restrict row, real *restrict dquery) {
    real *restrict sine_parts = dquery, *restrict cosine_parts = dquery + C / 2;
    for (int m = 0; m < C / 2; m++) {
        const real sine = row[m], cosine = row[C / 2 + m], sine_part = sine_parts[m], cosine_part = cosine_parts[m];
        sine_parts[m] = sine_part * cosine - cosine_part * sine;
        cosine_parts[m] = sine_part * sine + cosine_part * cosine;
    }
}

/* Multiplies ROTATED_SIDE rows x by the weight of a head whose D channels fill half a vector. */
INLINE void multiply_interleaved(const int D, const int C, const real *restrict x, const real *restrict weight,
                                 real *restrict output) {
    vector sum[ROTATED_SIDE];
    UNROLL
    for (int u = 0; u < ROTATED_SIDE; u++) sum[u] = (vector){0};
    for (int c = 0; c < C; c += 2) {
        vector rows = load(weight + c * D);
        UNROLL
        for (int u = 0; u < ROTATED_SIDE; u++) sum[u] += rows * broadcast_pair(x + u * C + c);
    }
    UNROLL
    for (int u = 0; u < ROTATED_SIDE; u += 2)
        store(output + u * D, take_every_second(sum[u], sum[u + 1], 0) + take_every_second(sum[u], sum[u + 1], 1));
}

/* Computes `count` <= LANES channels of ROTATED_SIDE rows of the output; weight, output: pointers to the first
 * channel. */
INLINE void multiply_channels(const int count, const int D, const int C, const real *restrict x,
                              const real *restrict weight, real *restrict output) {
    vector sum[ROTATED_SIDE];
    UNROLL
    for (int u = 0; u < ROTATED_SIDE; u++) sum[u] = (vector){0};
    for (int c = 0; c < C; c++) {
        vector row = load(weight + c * D);
        UNROLL
        for (int u = 0; u < ROTATED_SIDE; u++) sum[u] += row * x[u * C + c];
    }
    UNROLL
    for (int u = 0; u < ROTATED_SIDE; u++) memcpy(output + u * D, &sum[u], (size_t)count * sizeof(real));
}

/* output [LANES][D] = x [LANES][C] times the weight, for the first `rows` rows, rounded up to a multiple of
 * ROTATED_SIDE. Reads beyond the end of a row of the weight, up to a multiple of LANES elements from its start. */
INLINE void multiply_by_weight(const int D, const int C, int rows, const real *restrict x, const real *restrict weight,
                               real *restrict output) {
    const int whole = D / LANES * LANES;
    for (int i = 0; i < rows; i += ROTATED_SIDE, x += ROTATED_SIDE * C, output += ROTATED_SIDE * D) {
        if (interleaved_rows(D) == 2) {
            multiply_interleaved(D, C, x, weight, output);
            continue;
        }
        for (int d = 0; d < whole; d += LANES) multiply_channels(LANES, D, C, x, weight + d, output + d);
        if (D > whole) multiply_channels(D - whole, D, C, x, weight + whole, output + whole);
    }
}

#endif
