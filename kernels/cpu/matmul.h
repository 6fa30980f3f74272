/* Matrix products, sums of columns and transposes. Every call is compiled for its constant K and N, multiples of 16.
 *
 * Matrices are row-major, without gaps. Rows of activations are tokens. Buffers of activations hold a multiple of
 * TILE_ROWS rows; results in extra rows are never used. A sum runs over k, or over rows, in order, whatever the sizes
 * of tiles. Reference: lh_ref_matmul.
 *
 * tuned.h defines the sizes of tiles, whose sums are kept in registers:
 *   TILE_ROWS, TILE_COLUMNS    rows of a tile of a product, and its largest number of vectors per row
 *   OUTER_ROWS, OUTER_COLUMNS  the same for a tile of a gradient of weights; OUTER_ROWS divides 16
 * Parameters and locals `columns` count vectors per row, too.
 */
#ifndef LONGHAND_KERNELS_MATMUL_H
#define LONGHAND_KERNELS_MATMUL_H

#include <stdbool.h>

#include "kernels/cpu/vector.h"
#include "longhand/timings.h"

/* The operation on a sum before it is stored. */
enum finish {
    FINISH_STORE,     /* y = sum */
    FINISH_BIAS,      /* y = sum + other[n] */
    FINISH_BIAS_RELU, /* y = max(sum + other[n], 0) */
    FINISH_ADD,       /* y = sum + other[m][n] */
    FINISH_RELU_GRAD  /* y = other[m][n] > 0 ? sum : 0, other being the activation */
};

enum {
    NARROW = 160,             /* a gradient [K][N] remains in the caches if K or N is at most this number */
    SLICE_BYTES = 128 * 1024, /* maximum size of a slice, a part of a panel; two slices fit in a second-level cache */
    GRADIENT_ROWS = 168,      /* wide_weight_grad: largest number of rows whose products are summed in registers */
    GRADIENT_DEPTH = 256      /* wide_weight_grad: number of columns of a that are copied at once */
};

INLINE int is_wide(const int K, const int N) { return K > NARROW && N > NARROW; }

INLINE int widest_divisor(int vectors, int most) {
    for (int columns = most; columns > 1; columns--)
        if (vectors % columns == 0) return columns;
    return 1;
}

/* The number of adjacent columns of w that a tile of a product reads. */
INLINE int panel_width(const int N) { return widest_divisor(N / LANES, TILE_COLUMNS) * LANES; }

/* Copies w [K][N] to panels of panel_width(N) columns, one panel [K][width] after another. So a tile reads memory in
 * order. The rows of w lie about a kilobyte apart and would compete for few cache sets. */
INLINE void pack_weights(const int K, const int N, const real *restrict w, real *restrict panels) {
    const int width = panel_width(N);
    for (int n = 0; n < N; n += width)
        for (int k = 0; k < K; k++, panels += width)
            for (int j = 0; j < width; j += LANES) store(panels + j, load(w + k * N + n + j));
}

/* Packs panels of w^T [N][K] from w [K][N]. */
INLINE void pack_transposed(const int K, const int N, const real *restrict w, real *restrict panels) {
    const int width = panel_width(K);
    for (int k = 0; k < K; k += width)
        for (int n = 0; n < N; n += 8)
            for (int j = 0; j < width; j++)
                for (int i = 0; i < 8; i++) panels[(k * N) + (n + i) * width + j] = w[(k + j) * N + n + i];
}

/* Initialises the sums of a tile [TILE_ROWS][columns]. other: the tile's first operand of `finish`. */
INLINE void begin_tile(const int columns, const int N, const enum finish finish, const real *other,
                       vector sum[TILE_ROWS][TILE_COLUMNS]) {
    UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        UNROLL
        for (int j = 0; j < columns; j++) {
            if (finish == FINISH_BIAS || finish == FINISH_BIAS_RELU) sum[i][j] = load(other + j * LANES);
            else if (finish == FINISH_ADD) sum[i][j] = load(other + i * N + j * LANES);
            else sum[i][j] = (vector){0};
        }
    }
}

/* Stores a tile, after the operation that `finish` names. */
INLINE void end_tile(const int columns, const int N, const enum finish finish, const real *other,
                     vector sum[TILE_ROWS][TILE_COLUMNS], real *y) {
    UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        UNROLL
        for (int j = 0; j < columns; j++) {
            vector result = sum[i][j];
            if (finish == FINISH_BIAS_RELU) result = keep_where(result > 0, result);
            if (finish == FINISH_RELU_GRAD) result = keep_where(load(other + i * N + j * LANES) > 0, result);
            store(y + i * N + j * LANES, result);
        }
    }
}

/* Adds the products with one slice of a panel to all rows of y. Each tile prefetches an equal part of the next slice.
 *   depth        number of rows of the slice
 *   a, y, other  pointers to the first row
 *   first        whether y has no sums yet
 *   last         whether the sums are complete, so that `finish` is applied */
INLINE void multiply_slice(int rows, const int K, const int N, int depth, const real *restrict a,
                           const real *restrict slice, real *y, const enum finish finish, const real *other, bool first,
                           bool last) {
    const int columns = panel_width(N) / LANES, is_per_row = finish == FINISH_ADD || finish == FINISH_RELU_GRAD;
    const char *next = (const char *)(slice + depth * columns * LANES);
    const int bytes = columns * LANES * REAL_BYTES, tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    const int step = tiles > 0 && tiles < bytes ? bytes / tiles : 1;
    for (int m = 0; m < rows; m += TILE_ROWS) {
        const real *operands = is_per_row ? other + m * N : other;
        vector sum[TILE_ROWS][TILE_COLUMNS];
        if (first) begin_tile(columns, N, finish, operands, sum);
        else begin_tile(columns, N, FINISH_ADD, y + m * N, sum);
        for (int k = 0; k < depth; k++) {
            __builtin_prefetch(next, 0, 2);
            next += step;
            vector weight[TILE_COLUMNS];
            UNROLL
            for (int j = 0; j < columns; j++) weight[j] = load(slice + (k * columns + j) * LANES);
            UNROLL
            for (int i = 0; i < TILE_ROWS; i++) {
                vector x = broadcast(a[(m + i) * K + k]);
                UNROLL
                for (int j = 0; j < columns; j++) sum[i][j] += x * weight[j];
            }
        }
        if (last) end_tile(columns, N, finish, operands, sum, y + m * N);
        else end_tile(columns, N, FINISH_STORE, NULL, sum, y + m * N);
    }
}

/* dw[OUTER_ROWS][columns] += a[rows][OUTER_ROWS]^T dy[rows][columns]; a_step and dy_step are the distances between
 * rows. Sums run over rows in order and are then added to dw. With PREFETCH_GRADIENTS, each row prefetches one cache
 * line of the next tile of dw, because dw is no longer in the caches. */
INLINE void gradient_tile(int rows, const int columns, const int a_step, const real *restrict a, const int dy_step,
                          const real *restrict dy, const int N, real *restrict dw) {
    vector sum[OUTER_ROWS][OUTER_COLUMNS];
    UNROLL
    for (int i = 0; i < OUTER_ROWS; i++) {
        UNROLL
        for (int j = 0; j < columns; j++) {
            sum[i][j] = (vector){0};
        }
    }
    for (int m = 0; m < rows; m++) {
        if (PREFETCH_GRADIENTS && m < OUTER_ROWS * columns)
            __builtin_prefetch(dw + (OUTER_ROWS + m % OUTER_ROWS) * N + m / OUTER_ROWS * LANES, 1);
        vector factor[OUTER_COLUMNS];
        UNROLL
        for (int j = 0; j < columns; j++) factor[j] = load(dy + m * dy_step + j * LANES);
        UNROLL
        for (int i = 0; i < OUTER_ROWS; i++) {
            vector x = broadcast(a[m * a_step + i]);
            UNROLL
            for (int j = 0; j < columns; j++) sum[i][j] += x * factor[j];
        }
    }
    UNROLL
    for (int i = 0; i < OUTER_ROWS; i++) {
        UNROLL
        for (int j = 0; j < columns; j++) add_at(dw + i * N + j * LANES, sum[i][j]);
    }
}

/* Copies `depth` columns of a in groups of OUTER_ROWS columns. Each group becomes an array [rows][OUTER_ROWS]; `packed`
 * has these arrays one after another. Rows of a are K apart. */
INLINE void pack_factors(int rows, const int K, int depth, const real *restrict a, real *restrict packed) {
    for (int m = 0; m < rows; m++)
        for (int k = 0; k < depth; k += OUTER_ROWS) {
            UNROLL
            for (int i = 0; i < OUTER_ROWS; i++) packed[k * rows + m * OUTER_ROWS + i] = a[m * K + k + i];
        }
}

/* dw[depth][N] += packed^T dy[rows][N], only in the first `columns` vectors of each row. packed: from pack_factors. */
INLINE void packed_gradient(int rows, const int columns, int depth, const real *restrict packed, const int N,
                            const real *restrict dy, real *restrict dw) {
    real copy[GRADIENT_ROWS * OUTER_COLUMNS * LANES] __attribute__((aligned(64)));
    const int width = columns * LANES;
    for (int m = 0; m < rows; m++) {
        UNROLL
        for (int j = 0; j < columns; j++) store(copy + m * width + j * LANES, load(dy + m * N + j * LANES));
    }
    for (int k = 0; k < depth; k += OUTER_ROWS)
        gradient_tile(rows, columns, OUTER_ROWS, packed + k * rows, width, copy, N, dw + k * N);
}

/* matmul_weight_grad for wide K and N, and at most GRADIENT_ROWS rows. Both factors are copied, because their rows
 * would compete for few cache sets. The copies take at most 240 KB of stack (double: 410 KB). */
INLINE void wide_weight_grad(int rows, const int K, const int N, const real *restrict a, const real *restrict dy,
                             real *restrict dw) {
    real packed[GRADIENT_ROWS * GRADIENT_DEPTH] __attribute__((aligned(64)));
    const int columns = OUTER_COLUMNS, rest = N / LANES % columns;
    for (int k = 0; k < K; k += GRADIENT_DEPTH) {
        const int depth = K - k < GRADIENT_DEPTH ? K - k : GRADIENT_DEPTH;
        pack_factors(rows, K, depth, a + k, packed);
        int n = 0;
        for (; n + columns * LANES <= N; n += columns * LANES)
            packed_gradient(rows, columns, depth, packed, N, dy + n, dw + k * N + n);
        if (rest > 0) packed_gradient(rows, rest, depth, packed, N, dy + n, dw + k * N + n);
    }
}

/* y[rows][N] = finish(a[rows][K] w[K][N]). panels: from pack_weights(w) or pack_transposed(w^T). With FINISH_ADD other
 * may be y, for y += a w. */
INLINE void matmul(int rows, const int K, const int N, const real *restrict a, const real *restrict panels, real *y,
                   const enum finish finish, const real *other) {
    LH_TIMED(LH_PART_PRODUCTS);
    const int width = panel_width(N), most = SLICE_BYTES / REAL_BYTES / width, depth = most < K ? most : K;
    for (int n = 0; n < N; n += width) {
        for (int k = 0; k < K; k += depth)
            multiply_slice(rows, K, N, K - k < depth ? K - k : depth, a + k, panels + n * K + k * width, y + n, finish,
                           finish == FINISH_STORE ? NULL : other + n, k == 0, k + depth >= K);
    }
}

enum outer { OUTER_STORE, OUTER_ADD };

/* OUTER_STORE: dw[K][N] = a[rows][K]^T dy[rows][N].
 * OUTER_ADD: dw[K][N] += a[rows][K]^T dy[rows][N].
 *   TILE    number of rows of dw per tile, a divisor of K
 *   stride  distance between rows of a
 * No rows beyond `rows` are read. Sums run over rows in order and are then stored or added. With PREFETCH_GRADIENTS,
 * OUTER_ADD prefetches a tile of dw before its sums, because dw may no longer be in the caches. */
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
                    real *target = dw + (k + i) * N + n + j * LANES;
                    if (outer == OUTER_ADD) sum[i][j] += load(target);
                    store(target, sum[i][j]);
                }
            }
        }
    }
}

/* dw[K][N] += a[rows][K]^T dy[rows][N], both without gaps. */
INLINE void matmul_weight_grad(int rows, const int K, const int N, const real *restrict a, const real *restrict dy,
                               real *restrict dw) {
    LH_TIMED(LH_PART_PRODUCTS);
    if (!is_wide(K, N)) {
        outer_sums(rows, OUTER_ROWS, K, K, N, a, dy, dw, OUTER_ADD);
        return;
    }
    for (int m = 0; m < rows; m += GRADIENT_ROWS)
        wide_weight_grad(rows - m < GRADIENT_ROWS ? rows - m : GRADIENT_ROWS, K, N, a + m * K, dy + m * N, dw);
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
