/* Functions for scores in addition to functions.h. */
#ifndef LONGHAND_KERNELS_SCORE_H
#define LONGHAND_KERNELS_SCORE_H

#include <stdbool.h>

#include "kernels/cpu/functions.h"

/* first, first + 1, ... in successive lanes, limited to `most`. */
INLINE vector ascending(int first, int most) { return minimum(counting((real)first, 1), broadcast((real)most)); }

/* first, first - 1, ... in successive lanes, limited to `least`. */
INLINE vector descending(int first, int least) { return maximum(counting((real)first, -1), broadcast((real)least)); }

INLINE bits make_mask(bool truth) { return (bits){0} - (real_bits)truth; }

/* The number of edges that are at most x; edges ascend. */
INLINE vector bucket_of(vector x, int count, const real *edge) {
    vector sum = {0};
    for (int e = 0; e < count; e++) sum += keep_where(at_most(broadcast(edge[e]), x), broadcast(1));
    return sum;
}
INLINE real bucket_real(real x, int count, const real *edge) { return bucket_of(broadcast(x), count, edge)[0]; }

/* shift_up moves the value of lane i to lane i + 1, shift_down to lane i - 1. The free lane becomes zero. */
INLINE vector shift_up(vector x) {
    bits source_lane = {0}; /* gcc 14 does not see that the loop sets every lane */
    UNROLL
    for (int i = 0; i < LANES; i++) source_lane[i] = i > 0 ? i - 1 : LANES;
    return shuffle(x, (vector){0}, source_lane);
}
INLINE vector shift_down(vector x) {
    bits source_lane;
    UNROLL
    for (int i = 0; i < LANES; i++) source_lane[i] = i + 1;
    return shuffle(x, (vector){0}, source_lane);
}

/* Reverses the order of lanes. */
INLINE vector reversed(vector x) {
    bits source_lane;
    UNROLL
    for (int i = 0; i < LANES; i++) source_lane[i] = LANES - 1 - i;
    return shuffle(x, x, source_lane);
}

/* Positions of tokens i, i + 1, ... in successive lanes; lanes beyond token T - 1 repeat its position. */
INLINE vector positions_from(const int32_t *position, int i, int T) {
    vector x = {0};
    for (int k = 0; k < LANES; k++) x[k] = (real)position[i + k < T ? i + k : T - 1];
    return x;
}

/* A line of pairs that a mask opens: query i sees the key with index keys * S + first + step * i, of S keys.
 * If several lines open a pair, the largest of their values counts.
 * A query without an open key sees all keys; with a causal mask, the keys up to i. Source: Duan and Shi 2024. */
typedef struct opened_line {
    int step, keys, first; /* keys: 1 if the line is counted from the end of the keys, else 0 */
    real value;            /* added to the score of the pair */
} opened_line;

/* Index of the key that a line opens to query i; -1: none. causal: no query sees later keys. */
INLINE int find_line_key(const opened_line *line, const bool causal, int S, int i) {
    const int j = line->keys * S + line->first + line->step * i;
    return j >= 0 && j < S && !(causal && j > i) ? j : -1;
}

/* Finds a range [*begin, *end) of keys. It contains every key that a query in [first, first + LANES) sees.
 * *begin is a multiple of 8, and so is *end unless it is S.
 * corner: whether query 0 also sees the last key, with value 0.
 * T: number of queries. */
INLINE void span_lines(const opened_line *lines, const opened_line *lines_end, const bool corner, const bool causal,
                       int T, int S, int first, int *begin, int *end) {
    const int last = first + LANES < T ? first + LANES : T;
    int low = S, high = 0;
    for (int i = first; i < last; i++) {
        bool has_open_key = i == 0 && corner;
        if (has_open_key) high = S;
        if (has_open_key && low > S - 1) low = S - 1;
        for (const opened_line *line = lines; line < lines_end; line++) {
            const int j = find_line_key(line, causal, S, i);
            has_open_key = has_open_key || j >= 0;
            if (j >= high) high = j + 1;
            if (j >= 0 && j < low) low = j;
        }
        if (!has_open_key) {
            low = 0;
            high = causal ? i + 1 : S;
        }
    }
    high = round_up(high, 8);
    *begin = low / 8 * 8;
    *end = high < S ? high : S;
}

/* Writes gain[key][lane] for the keys in [begin, end) that span_lines found.
 * Lane l is for query first + l; lanes beyond the last query repeat it.
 * gain: the value that lines add to the score, or minus infinity if the query does not see the key. */
INLINE void write_line_gains(const opened_line *lines, const opened_line *lines_end, const bool corner,
                             const bool causal, int T, int S, int first, int begin, int end, real *gain) {
    for (int j = begin; j < end; j++) store(gain + j * LANES, broadcast(-(real)__builtin_inf()));
    for (int lane = 0; lane < LANES; lane++) {
        const int i = first + lane < T ? first + lane : T - 1;
        real *lane_gain = gain + lane;
        bool has_open_key = false;
        for (const opened_line *line = lines; line < lines_end; line++) {
            const int j = find_line_key(line, causal, S, i);
            if (j < 0) continue;
            if (line->value > lane_gain[j * LANES]) lane_gain[j * LANES] = line->value;
            has_open_key = true;
        }
        if (i == 0 && corner) {
            lane_gain[(S - 1) * LANES] = 0;
            has_open_key = true;
        }
        for (int j = 0; !has_open_key && j < (causal ? i + 1 : S); j++) lane_gain[j * LANES] = 0;
    }
}

#endif
