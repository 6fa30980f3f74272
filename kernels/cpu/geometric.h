/* Geometric attention of LANES queries at once, on rows of probabilities ("chances"), one row per key.
 *
 * Query first + a is in lane a; rows are [key][LANES]. Each query tries its keys outwards on both sides, so the chance
 * to reach the keys of one side is a running product over rows, and the gradient a running sum. For a pair of query and
 * key this product is multiplied by the product over the keys of the other side that are nearer to the query. For each
 * lane the product of the other side lies in a different row; mirror_rows copies it to the key's row. Functions with
 * "among" in their names process the rows first .. first + LANES - 1, whose keys lie to the right of some queries and
 * to the left of others.
 */
#ifndef LONGHAND_KERNELS_GEOMETRIC_H
#define LONGHAND_KERNELS_GEOMETRIC_H

#include "kernels/cpu/chances.h"

/* ---- outwards: the chance that a query reaches a key ---- */

/* Replaces N rows of logits, `step` rows apart, by the chances of a match; writes grad_factor and the chances of a miss
 * (compute_chances in chances.h). */
INLINE void write_chances(const int N, const int step, real *weights, real *grad_factor, vector *miss) {
    vector x[SIDE_BY_SIDE], match[SIDE_BY_SIDE], factor[SIDE_BY_SIDE];
    UNROLL
    for (int u = 0; u < N; u++) x[u] = load(weights + u * step * LANES);
    compute_chances(N, x, match, miss, factor);
    UNROLL
    for (int u = 0; u < N; u++) {
        store(weights + u * step * LANES, match[u]);
        store(grad_factor + u * step * LANES, factor[u]);
    }
}

/* Processes N rows for pass_side. Returns the chance after the last row. */
INLINE vector pass_rows(const int N, const int step, vector chance, real *weights, real *grad_factor, real *remaining) {
    vector miss[SIDE_BY_SIDE];
    write_chances(N, step, weights, grad_factor, miss);
    UNROLL
    for (int u = 0; u < N; u++) {
        chance = pass_key(chance, miss[u]);
        store(remaining + u * step * LANES, chance);
    }
    return chance;
}

/* Processes `count` keys on one side of all queries, from the nearest outwards (step 1 or -1). Replaces logits by
 * chances of a match, writes grad_factor, and writes to `remaining` the chance that a query passes the key, if only the
 * keys of this side count. chance: the chance that a query passes all nearer keys of this side. */
INLINE void pass_side(int count, const int step, vector chance, real *weights, real *grad_factor, real *remaining) {
    int n = 0;
    for (; n + SIDE_BY_SIDE <= count; n += SIDE_BY_SIDE) {
        const int offset = n * step * LANES;
        chance = pass_rows(SIDE_BY_SIDE, step, chance, weights + offset, grad_factor + offset, remaining + offset);
    }
    for (; n < count; n++) {
        const int offset = n * step * LANES;
        chance = pass_rows(1, step, chance, weights + offset, grad_factor + offset, remaining + offset);
    }
}

/* Processes N rows for pass_among, from row b on: writes the chances of the queries that lie to the left of the
 * keys. */
INLINE vector pass_rows_among(const int N, int b, vector chance, real *weights, real *grad_factor, real *remaining,
                              real *scratch) {
    vector miss[SIDE_BY_SIDE];
    write_chances(N, 1, weights + b * LANES, grad_factor + b * LANES, miss);
    UNROLL
    for (int u = 0; u < N; u++) {
        chance = pass_key(chance, choose(lanes_before(b + u), miss[u], broadcast(1)));
        store(remaining + (b + u) * LANES, chance);
        store(scratch + (b + u) * LANES, miss[u]);
    }
    return chance;
}

/* Processes the keys among the queries; row b is the key of the query in lane b, which does not match itself. right,
 * left: the chances after the outermost key on each side. scratch: workspace of `count` rows. */
INLINE void pass_among(int count, real *weights, real *grad_factor, real *remaining, real *scratch, vector *right,
                       vector *left) {
    int b = 0;
    *right = *left = broadcast(1);
    for (; b + SIDE_BY_SIDE <= count; b += SIDE_BY_SIDE)
        *right = pass_rows_among(SIDE_BY_SIDE, b, *right, weights, grad_factor, remaining, scratch);
    for (; b < count; b++) *right = pass_rows_among(1, b, *right, weights, grad_factor, remaining, scratch);
    for (b = count - 1; b >= 0; b--) {
        *left = pass_key(*left, choose(lanes_before(b + 1), broadcast(1), load(scratch + b * LANES)));
        store(remaining + b * LANES, load(remaining + b * LANES) * *left);
        weights[b * LANES + b] = 0;
        grad_factor[b * LANES + b] = -(real)0;
    }
}

/* ---- the chances of the other side ---- */

/* Lanes with the binary digit `bit` in their index come from b, other lanes from a. */
INLINE vector lanes_with_bit(vector a, vector b, const int bit) {
    bits source_lane;
    UNROLL
    for (int i = 0; i < LANES; i++) source_lane[i] = i & bit ? LANES + i : i;
    return shuffle(a, b, source_lane);
}

enum { MIRROR_BLOCK = LANES / 2 }; /* rows per pass */

/* Moves the lanes with the binary digit `bit` in their index to the row that is `bit` rows later. late: on entry the
 * lanes that the call before delayed, on return the lanes for the rows of the next call. */
INLINE void delay_lanes(const int bit, vector *x, vector *late) {
    vector y[MIRROR_BLOCK];
    UNROLL
    for (int u = 0; u < MIRROR_BLOCK; u++) y[u] = lanes_with_bit(x[u], u < bit ? late[u] : x[u - bit], bit);
    UNROLL
    for (int u = 0; u < bit; u++) late[u] = x[MIRROR_BLOCK - bit + u];
    UNROLL
    for (int u = 0; u < MIRROR_BLOCK; u++) x[u] = y[u];
}

/* Sets rows [from, to) to copies of `row`. */
INLINE void fill_rows(int from, int to, const real *row, real *rows) {
    for (int r = from; r < to; r++) store(rows + r * LANES, load(row));
}

/* Does the work of mirror_rows for every second row in [from, to). Lane `a` of row r has the same source row as lane 0
 * of row r - 2 a, because the source's index grows by 2 a. So x[u] first gets the source row of lane 0 in all lanes.
 * Then delay_lanes moves lane `a` to x[u + a], which is 2 a rows later. */
INLINE void mirror_every_second(int first, int from, int to, int low, int high, const real *rows, real *mirrored) {
    const ptrdiff_t low_offset = low * LANES, high_offset = high * LANES;
    vector late[LANES - 1]; /* delayed rows of bit b start at b - 1 */
    UNROLL
    for (int i = 0; i < LANES - 1; i++) late[i] = load(rows + high_offset);
    for (int r = 2 * first - from + 2 < high ? from - 2 * LANES : from; r < to; r += LANES) {
        const ptrdiff_t top = (2 * first - r) * LANES;
        vector x[MIRROR_BLOCK];
        UNROLL
        for (int u = 0; u < MIRROR_BLOCK; u++) {
            ptrdiff_t source = top - 2 * u * LANES;
            source = source < high_offset ? source : high_offset;
            x[u] = load(rows + (source > low_offset ? source : low_offset));
        }
        delay_lanes(1, x, late);
        if (LANES > 2) delay_lanes(2, x, late + 1);
        if (LANES > 4) delay_lanes(4, x, late + 3);
        if (LANES > 8) delay_lanes(8, x, late + 7);
        if (r < from) continue;
        UNROLL
        for (int u = 0; u < MIRROR_BLOCK; u++) store(mirrored + (r + 2 * u) * LANES, x[u]);
    }
}

/* Writes mirrored[r] for r in [from, to): lane `a` comes from row 2 (first + a) - r, whose key is as far from query
 * first + a as key r, on the other side. Indices of source rows are clamped to [low, high]. Up to LANES - 1 more rows
 * are written. */
NOINLINE void mirror_rows(int first, int from, int to, int low, int high, const real *rows, real *mirrored) {
    /* rows for which some lane is not clamped */
    int begin = 2 * first - high + 1, end = 2 * (first + LANES - 1) - low;
    begin = begin < from ? from : begin < to ? begin : to;
    end = end < to ? end : to;
    fill_rows(from, begin, rows + high * LANES, mirrored);
    for (int parity = 0; parity < 2; parity++)
        mirror_every_second(first, begin + parity, end, low, high, rows, mirrored);
    fill_rows(end, to, rows + low * LANES, mirrored);
}

/* ---- weights ---- */

/* The chance that a query reaches a key, from the chances that it passes the nearer keys of both sides; 0 below
 * LEAST_CHANCE. */
INLINE vector reach_chance(vector nearer, vector across) {
    vector chance = nearer * across;
    return keep_where(~(chance < LEAST_CHANCE), chance);
}

/* Processes N rows for weigh_side. */
INLINE vector weigh_rows(const int N, const real *nearer, const real *across, real *weights) {
    vector sum = {0};
    UNROLL
    for (int u = 0; u < N; u++) {
        vector weight = load(weights + u * LANES) * reach_chance(load(nearer + u * LANES), load(across + u * LANES));
        store(weights + u * LANES, weight);
        sum += weight;
    }
    return sum;
}

/* Replaces the chances of a match of keys [from, to), all on one side, by weights; returns the sum of the weights.
 * nearer, across: `remaining` and `mirrored`, shifted so that a key's row has the chances to pass the nearer keys. */
INLINE vector weigh_side(int from, int to, const real *nearer, const real *across, real *weights) {
    vector sum = {0};
    int j = from;
    for (; j + SIDE_BY_SIDE <= to; j += SIDE_BY_SIDE)
        sum += weigh_rows(SIDE_BY_SIDE, nearer + j * LANES, across + j * LANES, weights + j * LANES);
    for (; j < to; j++) sum += weigh_rows(1, nearer + j * LANES, across + j * LANES, weights + j * LANES);
    return sum;
}

/* Replaces the chances of a match of the keys among the queries by weights; returns the sum of the weights. */
INLINE vector weigh_among(int count, const real *remaining, const real *mirrored, real *weights) {
    vector sum = {0};
    for (int b = 0; b < count; b++) {
        bits right = lanes_before(b);
        vector nearer = choose(right, load(remaining + (b - 1) * LANES), load(remaining + (b + 1) * LANES));
        vector across = choose(right, load(mirrored + (b - 1) * LANES), load(mirrored + b * LANES));
        vector weight = load(weights + b * LANES) * reach_chance(nearer, across);
        store(weights + b * LANES, weight);
        sum += weight;
    }
    return sum;
}

/* Replaces logits [T][LANES] of the queries from `first` on by weights, which are not yet divided by their sum; returns
 * the sum. grad_factor is [T][LANES]. remaining, mirrored: pointers to row 0 of workspaces that also have one row
 * before row 0; after row T - 1 `remaining` has one more row, and `mirrored` has LANES more rows. */
INLINE vector weigh_outwards(int T, int first, real *weights, real *grad_factor, real *remaining, real *mirrored) {
    const int end = first + LANES < T ? first + LANES : T, offset = first * LANES;
    vector right, left;
    pass_among(end - first, weights + offset, grad_factor + offset, remaining + offset, mirrored + offset, &right,
               &left);
    pass_side(first, -1, left, weights + offset - LANES, grad_factor + offset - LANES, remaining + offset - LANES);
    pass_side(T - end, 1, right, weights + end * LANES, grad_factor + end * LANES, remaining + end * LANES);
    store(remaining - LANES, broadcast(1));
    store(remaining + T * LANES, broadcast(1));
    mirror_rows(first, 0, T, 0, T - 1, remaining, mirrored);
    store(mirrored - LANES, broadcast(1));
    vector sum = weigh_side(0, first, remaining + LANES, mirrored, weights);
    sum += weigh_among(end - first, remaining + offset, mirrored + offset, weights + offset);
    return sum + weigh_side(end, T, remaining - LANES, mirrored - LANES, weights);
}

/* ---- backward pass: contributions of farther keys to a pair's gradient ---- */

/* Processes N rows for sum_side. A gain is a weight times the gradient of this weight (write_gains). */
INLINE vector sum_rows(const int N, const int step, vector sum, const real *gains, real *sums) {
    vector part = {0};
    UNROLL
    for (int u = 0; u < N; u++) {
        part -= load(gains + u * step * LANES);
        store(sums + u * step * LANES, sum + part);
    }
    return sum + part;
}

/* Writes running sums of `count` negated rows of gains, from the farthest key inwards (step 1 or -1); returns the last
 * sum. */
INLINE vector sum_side(int count, const int step, const real *gains, real *sums) {
    vector sum = {0};
    int n = 0;
    for (; n + SIDE_BY_SIDE <= count; n += SIDE_BY_SIDE)
        sum = sum_rows(SIDE_BY_SIDE, step, sum, gains + n * step * LANES, sums + n * step * LANES);
    for (; n < count; n++) sum = sum_rows(1, step, sum, gains + n * step * LANES, sums + n * step * LANES);
    return sum;
}

/* Writes running sums over the keys among the queries. right, left: the sums over the keys beyond them on each side. */
INLINE void sum_among(int count, vector right, vector left, const real *gains, real *sums) {
    for (int b = count - 1; b >= 0; b--) {
        right -= keep_where(lanes_before(b), load(gains + b * LANES));
        store(sums + b * LANES, right);
    }
    for (int b = 0; b < count; b++) {
        left -= keep_where(~lanes_before(b + 1), load(gains + b * LANES));
        store(sums + b * LANES, choose(lanes_before(b), load(sums + b * LANES), left));
    }
}

/* The gradient of a pair's logit: (1 - P) * gain + P * minus_behind, where P is the chance of a match, and minus_behind
 * is the negated sum of the gains of the keys that the query tries later. grad_factor is 1 - P for a positive logit and
 * -P for a negative one. */
INLINE vector compute_dlogit(vector grad_factor, vector gain, vector minus_behind) {
    return choose_by_sign(grad_factor, gain, minus_behind) + grad_factor * (gain - minus_behind);
}

/* Replaces the gains of keys [from, to), all on one side, by gradients of logits; returns the sum of the gradients.
 * farther, across: `sums` and `mirrored`, shifted so that a key's row has the sums over the keys after it. */
INLINE vector write_side_dlogits(int from, int to, const real *farther, const real *across, const real *grad_factor,
                                 real *dlogits) {
    vector sum = {0};
    for (int j = from; j < to; j++) {
        vector minus_behind = load(farther + j * LANES) + load(across + j * LANES);
        vector dlogit = compute_dlogit(load(grad_factor + j * LANES), load(dlogits + j * LANES), minus_behind);
        store(dlogits + j * LANES, dlogit);
        sum += dlogit;
    }
    return sum;
}

/* Replaces gains of the keys among the queries by gradients of logits; adds the gradients to the sums of both sides. */
INLINE void write_among_dlogits(int count, const real *sums, const real *mirrored, const real *grad_factor,
                                real *dlogits, vector *right, vector *left) {
    for (int b = 0; b < count; b++) {
        bits is_right = lanes_before(b);
        vector farther = choose(is_right, load(sums + (b + 1) * LANES), load(sums + (b - 1) * LANES));
        vector across = choose(is_right, load(mirrored + b * LANES), load(mirrored + (b - 1) * LANES));
        vector dlogit = compute_dlogit(load(grad_factor + b * LANES), load(dlogits + b * LANES), farther + across);
        store(dlogits + b * LANES, dlogit);
        *right += keep_where(is_right, dlogit);
        *left += keep_where(~is_right, dlogit);
    }
}

/* Replaces gains [T][LANES], each a weight times its gradient, by gradients of logits; right, left: the sums of the
 * gradients on each side. The gradient of a logit with match P is (1 - P) * gain - P * (sum of the gains of keys that
 * are tried later). sums, mirrored: workspaces of the sizes of remaining and mirrored in weigh_outwards. */
INLINE void write_dlogits(int T, int first, const real *grad_factor, real *dlogits, real *sums, real *mirrored,
                          vector *right, vector *left) {
    const int end = first + LANES < T ? first + LANES : T, offset = first * LANES;
    store(sums - LANES, (vector){0});
    store(sums + T * LANES, (vector){0});
    vector from_left = sum_side(first, 1, dlogits, sums);
    vector from_right = sum_side(T - end, -1, dlogits + (T - 1) * LANES, sums + (T - 1) * LANES);
    sum_among(end - first, from_right, from_left, dlogits + offset, sums + offset);
    mirror_rows(first, -1, T, -1, T, sums, mirrored);
    *left = write_side_dlogits(0, first, sums - LANES, mirrored - LANES, grad_factor, dlogits);
    *right = write_side_dlogits(end, T, sums + LANES, mirrored, grad_factor, dlogits);
    write_among_dlogits(end - first, sums + offset, mirrored + offset, grad_factor + offset, dlogits + offset, right,
                        left);
}

/* gains [T][LANES] = weights times their gradients. The gradient of a weight is the product of g with the key's row of
 * `value`, minus `mean`. g: the gradients of the outputs of LANES queries, D channels, divided by the outputs'
 * divisor. mean: if the divisor is the sum of the weights, the weighted mean of the products with g, else 0. Rows of
 * `value` are `stride` apart. */
INLINE void write_gains(const int D, const int stride, int T, const vector *g, vector mean, const real *restrict value,
                        const real *restrict weights, real *restrict gains) {
    int j = 0;
    for (; j + SIDE_BY_SIDE <= T; j += SIDE_BY_SIDE) {
        vector dweight[SIDE_BY_SIDE];
        dot_rows(D, SIDE_BY_SIDE, g, stride, value + j * stride, dweight);
        UNROLL
        for (int u = 0; u < SIDE_BY_SIDE; u++)
            store(gains + (j + u) * LANES, load(weights + (j + u) * LANES) * (dweight[u] - mean));
    }
    for (; j < T; j++) store(gains + j * LANES, load(weights + j * LANES) * (dot_row(D, g, value + j * stride) - mean));
}

#endif
