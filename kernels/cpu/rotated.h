/* Products of queries with sinusoids of position differences, without a vector for each pair of query and key.
 *
 * The row of a position p has C channels: first sin(p f), then cos(p f), for C / 2 frequencies f.
 * A query that is rotated by its position q has the same product with the row of p as the unrotated query with the row
 * of p - q. This follows from the formulas for sin(a - b) and cos(a - b).
 * A weight [C][D] maps a row to the D channels of a head.
 */
#ifndef LONGHAND_KERNELS_ROTATED_H
#define LONGHAND_KERNELS_ROTATED_H

#include "kernels/cpu/columns.h"
#include "kernels/cpu/matmul.h"

enum {
    ROTATED_KEYS = 8, /* keys per pass of a loop; buffers of rows and products have space for whole passes */
    ROTATED_SIDE = LANES < 8 ? LANES : 8 /* queries per pass of a loop over gradients */
};

/* Number of weight rows that are interleaved. If a head fills half a vector of floats, two rows share a vector. */
INLINE int interleaved_rows(const int D) { return REAL_BYTES == 4 && 2 * D == LANES ? 2 : 1; }

/* Index of row c, channel d in the packed weight of a head. */
INLINE int weight_index(const int D, int c, int d) {
    const int rows = interleaved_rows(D);
    return (c / rows * D + d) * rows + c % rows;
}

/* Packs the columns of each head from weight [C][C] into weights [heads][C][D]. */
INLINE void pack_heads(const int D, const int C, const real *restrict weight, real *restrict weights) {
    for (int h = 0; h < C / D; h++, weights += C * D)
        for (int c = 0; c < C; c++)
            for (int d = 0; d < D; d++) weights[weight_index(D, c, d)] = weight[c * C + h * D + d];
}

/* Products of LANES queries with SIDE_BY_SIDE rows of the weight. `weight` points to the first row. */
INLINE void dot_weight(const int D, const vector *query, const real *restrict weight, vector *sum) {
    UNROLL
    for (int u = 0; u < SIDE_BY_SIDE; u++) sum[u] = query[0] * weight[weight_index(D, u, 0)];
    UNROLL
    for (int d = 1; d < D; d++) {
        UNROLL
        for (int u = 0; u < SIDE_BY_SIDE; u++) sum[u] += query[d] * weight[weight_index(D, u, d)];
    }
}

/* rotated [C][LANES] = LANES queries times the transposed weight, rotated by the positions of the queries.
 * query [D]: one query in each lane.
 * sinusoids [C]: the rows of the positions, one position in each lane; channels are `stride` elements apart. */
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

/* Writes the products [keys][LANES] of LANES rotated queries with rows [keys][C]. SIDE: keys per pass of the loop. */
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

/* dot_rotated_by with the SIDE that computes fewer unused products: ROTATED_KEYS or ROTATED_KEYS - 1. */
INLINE void dot_rotated(const int C, int keys, const real *restrict rotated, const real *restrict rows,
                        real *restrict products) {
    const int fewer_keys = ROTATED_KEYS - 1;
    if (round_up(keys, fewer_keys) < round_up(keys, ROTATED_KEYS))
        dot_rotated_by(C, fewer_keys, keys, rotated, rows, products);
    else dot_rotated_by(C, ROTATED_KEYS, keys, rotated, rows, products);
}

/* Writes drotated [queries][C] from dproducts [keys][LANES]; `queries` is rounded up to a multiple of ROTATED_SIDE. */
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

/* Computes `count` <= LANES channels of ROTATED_SIDE rows. `weight` and `output` point to the first channel. */
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

/* output [rows][D] = x [rows][C] times the weight; `rows` is rounded up to a multiple of ROTATED_SIDE.
 * May read up to LANES - 1 elements beyond the end of the weight. */
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
