/* Stick-breaking attention of LANES queries at once, one row [LANES] per key. A query has a stick of length 1. The keys
 * take pieces of the stick, the nearest key first: a key's weight is `match`, the chance that it matches the query
 * (chances.h), times the remaining length.
 */
#ifndef LONGHAND_KERNELS_STICK_H
#define LONGHAND_KERNELS_STICK_H

#include "kernels/cpu/chances.h"

/* A stick's remaining length; 0 below LEAST_CHANCE. */
INLINE vector remaining_stick(vector stick) { return keep_where(~(stick < LEAST_CHANCE), stick); }

/* Writes the weights of N keys from their logits x, the last key first; returns the remaining stick. If N > 1, all
 * lanes of `sees` must be set; if N = 1, queries that do not see the key give it weight 0. */
INLINE vector break_stick(const int N, const vector *x, bits sees, vector stick, real *weights) {
    vector match[SIDE_BY_SIDE], miss[SIDE_BY_SIDE], factor[SIDE_BY_SIDE];
    compute_chances(N, x, match, miss, factor);
    UNROLL
    for (int u = N - 1; u >= 0; u--) {
        store(weights + u * LANES, keep_where(sees, match[u] * remaining_stick(stick)));
        stick = pass_key(stick, choose(sees, miss[u], broadcast(1)));
    }
    return stick;
}

/* The gradient of a logit. gain: the key's weight times the gradient of this weight, 0 for a query that does not see
 * the key. farther: the sum of the gains of all farther keys, plus the product of the stick's length after all keys and
 * the gradient of this length. */
INLINE vector stick_grad(vector x, bits sees, vector gain, vector farther) {
    vector match, miss, factor;
    compute_chances(1, &x, &match, &miss, &factor);
    return miss * gain - keep_where(sees, match) * farther;
}

#endif
