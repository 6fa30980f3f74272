/* Matrix products with constant inner sizes: every call is compiled for its own K and N.
 *
 * Rows are tokens, row-major, without gaps. Row counts are rounded up to TILE_ROWS: buffers hold that many rows, and
 * what the extra rows contain is never read as a result.
 * A tile keeps TILE_ROWS x columns accumulators in registers, columns weights and one activation; weights stream
 * through vectors, activations as broadcasts. A gradient of weights keeps OUTER_ROWS x OUTER_COLUMNS accumulators and
 * OUTER_COLUMNS factors. TILE_... and OUTER_... are tuned.h's, COLUMNS are vectors: they say which sums are made side by
 * side, never the order of one, which runs over k, or over rows. K and N are multiples of 16 (schema.lua enforces it
 * for every width), which OUTER_ROWS divides. Reference: lh_ref_matmul in kernels/ref.
 */
#ifndef LONGHAND_KERNELS_MATMUL_H
#define LONGHAND_KERNELS_MATMUL_H

#include "kernels/cpu/vector.h"
#include "longhand/laps.h"

/* What happens to a sum before it is stored. */
enum finish {
    FINISH_STORE,     /* y = sum */
    FINISH_BIAS,      /* y = sum + other[n] */
    FINISH_BIAS_RELU, /* y = max(sum + other[n], 0) */
    FINISH_ADD,       /* y = sum + other[m][n] */
    FINISH_RELU_GRAD  /* y = other[m][n] > 0 ? sum : 0, other being the activation */
};

INLINE int widest_divisor(int vectors, int most) {
    for (int columns = most; columns > 1; columns--)
        if (vectors % columns == 0) return columns;
    return 1;
}

/* Columns of w that a tile of a product reads side by side. */
INLINE int panel_width(const int N) { return widest_divisor(N / LANES, TILE_COLUMNS) * LANES; }

/* panels = w[K][N], panel_width(N) columns at a time, each panel [K][width] without gaps: a tile walks through memory
 * in order, where rows of w a kilobyte apart would share a few cache sets. */
INLINE void pack_weights(const int K, const int N, const real *restrict w, real *restrict panels) {
    const int width = panel_width(N);
    for (int n = 0; n < N; n += width)
        for (int k = 0; k < K; k++, panels += width)
            for (int j = 0; j < width; j += LANES) store(panels + j, load(w + k * N + n + j));
}

/* The same for w^T [N][K], w being [K][N]. */
INLINE void pack_transposed(const int K, const int N, const real *restrict w, real *restrict panels) {
    const int width = panel_width(K);
    for (int k = 0; k < K; k += width)
        for (int n = 0; n < N; n += 8)
            for (int j = 0; j < width; j++)
                for (int i = 0; i < 8; i++) panels[(k * N) + (n + i) * width + j] = w[(k + j) * N + n + i];
}

/* y[rows][N] = finish(a[rows][K] w[K][N]); panels from pack_weights(w) or pack_transposed(w^T).
 * With FINISH_ADD other may be y, which is then added to: a tile has read its part of other before it stores. */
INLINE void matmul(int rows, const int K, const int N, const real *restrict a, const real *restrict panels, real *y,
                   const enum finish finish, const real *other) {
    LH_TIMED(LH_PART_PRODUCTS);
    const int columns = panel_width(N) / LANES;
    for (int n = 0; n < N; n += columns * LANES) {
        const real *panel = panels + n * K;
        for (int m = 0; m < rows; m += TILE_ROWS) {
            vector sum[TILE_ROWS][TILE_COLUMNS];
            UNROLL
            for (int i = 0; i < TILE_ROWS; i++) {
                UNROLL
                for (int j = 0; j < columns; j++) {
                    if (finish == FINISH_BIAS || finish == FINISH_BIAS_RELU) sum[i][j] = load(other + n + j * LANES);
                    else if (finish == FINISH_ADD) sum[i][j] = load(other + (m + i) * N + n + j * LANES);
                    else sum[i][j] = (vector){0};
                }
            }
            for (int k = 0; k < K; k++) {
                vector weight[TILE_COLUMNS];
                UNROLL
                for (int j = 0; j < columns; j++) weight[j] = load(panel + (k * columns + j) * LANES);
                UNROLL
                for (int i = 0; i < TILE_ROWS; i++) {
                    vector x = broadcast(a[(m + i) * K + k]);
                    UNROLL
                    for (int j = 0; j < columns; j++) sum[i][j] += x * weight[j];
                }
            }
            UNROLL
            for (int i = 0; i < TILE_ROWS; i++) {
                UNROLL
                for (int j = 0; j < columns; j++) {
                    vector result = sum[i][j];
                    if (finish == FINISH_BIAS_RELU) result = keep_where(result > 0, result);
                    if (finish == FINISH_RELU_GRAD)
                        result = keep_where(load(other + (m + i) * N + n + j * LANES) > 0, result);
                    store(y + (m + i) * N + n + j * LANES, result);
                }
            }
        }
    }
}

/* dw[K][N] = or += a[rows][K]^T dy[rows][N], rows of a being `stride` apart; exactly `rows` rows are read, TILE at a time
 * of the K, which it divides. Sums run over rows in order and are then added to dw, whose lines may be far away by then:
 * with PREFETCH_GRADIENTS they are asked for before the rows are summed. */
enum outer { OUTER_STORE, OUTER_ADD };
INLINE void outer_sums(int rows, const int TILE, int K, int stride, const int N, const real *restrict a,
                       const real *restrict dy, real *restrict dw, const enum outer outer) {
    const int columns = widest_divisor(N / LANES, OUTER_COLUMNS);
    for (int n = 0; n < N; n += columns * LANES) {
        for (int k = 0; k < K; k += TILE) {
            vector sum[OUTER_ROWS][OUTER_COLUMNS];
            UNROLL
            for (int i = 0; i < TILE; i++) {
                UNROLL
                for (int j = 0; j < columns; j++) {
                    if (PREFETCH_GRADIENTS && outer == OUTER_ADD)
                        __builtin_prefetch(dw + (k + i) * N + n + j * LANES, 1);
                    sum[i][j] = (vector){0};
                }
            }
            for (int m = 0; m < rows; m++) {
                vector factor[OUTER_COLUMNS];
                UNROLL
                for (int j = 0; j < columns; j++) factor[j] = load(dy + m * N + n + j * LANES);
                UNROLL
                for (int i = 0; i < TILE; i++) {
                    vector x = broadcast(a[m * stride + k + i]);
                    UNROLL
                    for (int j = 0; j < columns; j++) sum[i][j] += x * factor[j];
                }
            }
            UNROLL
            for (int i = 0; i < TILE; i++) {
                UNROLL
                for (int j = 0; j < columns; j++) {
                    real *to = dw + (k + i) * N + n + j * LANES;
                    if (outer == OUTER_ADD) sum[i][j] += load(to);
                    store(to, sum[i][j]);
                }
            }
        }
    }
}

/* dw[K][N] += a[rows][K]^T dy[rows][N], both without gaps. */
INLINE void matmul_weight_grad(int rows, const int K, const int N, const real *restrict a, const real *restrict dy,
                               real *restrict dw) {
    LH_TIMED(LH_PART_PRODUCTS);
    outer_sums(rows, OUTER_ROWS, K, K, N, a, dy, dw, OUTER_ADD);
}

/* db[N] += column sums of dy[rows][N]. */
INLINE void bias_grad(int rows, const int N, const real *restrict dy, real *restrict db) {
    const int columns = widest_divisor(N / LANES, 8);
    for (int n = 0; n < N; n += columns * LANES) {
        vector sum[8];
        UNROLL
        for (int j = 0; j < columns; j++) sum[j] = load(db + n + j * LANES);
        for (int m = 0; m < rows; m++) {
            UNROLL
            for (int j = 0; j < columns; j++) sum[j] += load(dy + m * N + n + j * LANES);
        }
        UNROLL
        for (int j = 0; j < columns; j++) store(db + n + j * LANES, sum[j]);
    }
}

/* out[N][K] = in[K][N]^T. */
INLINE void transpose(const int K, const int N, const real *restrict in, real *restrict out) {
    for (int n = 0; n < N; n += 8)
        for (int k = 0; k < K; k++)
            for (int j = n; j < n + 8; j++) out[j * K + k] = in[k * N + j];
}

#endif
