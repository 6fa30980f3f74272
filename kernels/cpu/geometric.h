/* Geometric attention of LANES queries at once. Query first + a is in lane a. Rows are [key][LANES].
 *
 * A query tries its keys outwards on both sides. It reaches a key if no nearer key matches. It passes a key if it
 * reaches the key and the key does not match. The chance (probability) to reach a key is the product of two chances:
 *
 *   nearer   to pass the nearer keys of the key's side: a running product over rows
 *   across   to pass the nearer keys of the other side: the same running product, but in another row for each lane;
 *            mirror_rows copies it to the key's row
 *
 * The backward pass uses running sums in the same way. Functions with "among" in their names process the rows
 * first .. first + LANES - 1. Their keys lie to the right of some queries and to the left of others.
 */
#ifndef LONGHAND_KERNELS_GEOMETRIC_H
#define LONGHAND_KERNELS_GEOMETRIC_H

#include "kernels/cpu/chances.h"

/* ---- outwards: the chance that a query reaches a key ---- */

/* Computes the chances of N rows that are `step` rows apart (compute_chances in chances.h). weights: on entry logits,
 * on return the chances of a match. */
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

/* Processes `count` keys on one side of all queries, from the nearest outwards (step 1 or -1).
 *   chance     the chance that a query passes all nearer keys of this side
 *   weights    on entry logits, on return the chances of a match
 *   remaining  on return the chance that a query passes the key and all nearer keys of this side */
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

/* Processes rows b .. b + N - 1 for pass_among. The chance of a query changes only at keys to the right of the query.
 * scratch: on return the chances of a miss. */
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

/* Does the work of pass_side for the keys among the queries. Row b is the key of the query in lane b. A query does not
 * match its own key.
 *   right, left  on return the chance that a query passes all these keys on its right, or on its left
 *   scratch      workspace of `count` rows */
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

/* Returns, for each lane i, lane i of b if i & bit is not 0, else lane i of a. */
INLINE vector lanes_with_bit(vector a, vector b, const int bit) {
    bits source_lane;
    UNROLL
    for (int i = 0; i < LANES; i++) source_lane[i] = i & bit ? LANES + i : i;
    return shuffle(a, b, source_lane);
}

enum { MIRROR_BLOCK = LANES / 2 }; /* number of rows that mirror_every_second writes at a time */

/* Moves each lane i with i & bit to the row that is `bit` rows later. late [bit]: on entry the last rows of the
 * previous call, on return the last rows of this call. */
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

/* Does the work of mirror_rows for every second row in [from, to). Lane a of row r and lane 0 of row r - 2 a have the
 * same source row. So all lanes of x[u] are first loaded from the source row of lane 0. Then delay_lanes moves lane a
 * to x[u + a], which is 2 a rows later. */
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
        if (r < from) continue; /* these passes only fill `late` */
        UNROLL
        for (int u = 0; u < MIRROR_BLOCK; u++) store(mirrored + (r + 2 * u) * LANES, x[u]);
    }
}

/* Writes mirrored[r] for r in [from, to), and up to LANES - 1 more rows. The source row of lane a is 2 (first + a) - r,
 * clamped to [low, high]. Its key and key r have the same distance to query first + a, on opposite sides. */
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

/* Returns the chance that a query reaches a key; 0 below LEAST_CHANCE. nearer, across: see the first comment. */
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

/* Computes the weights of keys [from, to), all on one side; returns their sum.
 *   nearer, across  `remaining` and `mirrored`, shifted so that row j has the arguments of reach_chance for key j
 *   weights         on entry the chances of a match, on return weights */
INLINE vector weigh_side(int from, int to, const real *nearer, const real *across, real *weights) {
    vector sum = {0};
    int j = from;
    for (; j + SIDE_BY_SIDE <= to; j += SIDE_BY_SIDE)
        sum += weigh_rows(SIDE_BY_SIDE, nearer + j * LANES, across + j * LANES, weights + j * LANES);
    for (; j < to; j++) sum += weigh_rows(1, nearer + j * LANES, across + j * LANES, weights + j * LANES);
    return sum;
}

/* Does the work of weigh_side for the keys among the queries. */
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

/* Computes the weights of all T keys for the queries from `first` on; returns their sum. Weights are not yet divided by
 * the sum.
 *   weights      [T][LANES]: on entry logits, on return weights
 *   grad_factor  [T][LANES]: on return grad_factor of compute_chances
 *   remaining    workspace from row 0 on, with one more row before row 0 and one more row after row T - 1
 *   mirrored     workspace from row 0 on, with one more row before row 0 and LANES more rows after row T - 1 */
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

/* Writes running sums over the keys among the queries. right, left: the sums over all keys to the right of these keys,
 * and to the left. */
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

/* Returns the gradient of a pair's logit: (1 - P) * gain + P * minus_behind, where P is the chance of a match.
 *   grad_factor   1 - P for a positive logit, -P for a negative logit
 *   minus_behind  the negated sum of the gains of all keys that the query tries later */
INLINE vector compute_dlogit(vector grad_factor, vector gain, vector minus_behind) {
    return choose_by_sign(grad_factor, gain, minus_behind) + grad_factor * (gain - minus_behind);
}

/* Computes the gradients of the logits of keys [from, to), all on one side; returns their sum.
 *   farther, across  `sums` and `mirrored`, shifted so that minus_behind of key j is the sum of both rows j
 *   dlogits          on entry gains, on return gradients of logits */
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

/* Does the work of write_side_dlogits for the keys among the queries; adds the gradients to the sums of both sides. */
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

/* Computes the gradients of the logits of all T keys.
 *   dlogits         [T][LANES]: on entry gains, on return gradients of logits
 *   sums, mirrored  workspaces of the sizes of remaining and mirrored in weigh_outwards
 *   right, left     on return the sums of the gradients on each side */
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

/* gains [T][LANES] = weight * (product - mean), where product is the scalar product of g and the key's row of `value`.
 *   g      gradients of the outputs of LANES queries, D channels, divided by the divisor of the outputs
 *   mean   the weighted mean of the products if the divisor is the sum of the weights, else 0
 *   value  rows that are `stride` apart */
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
