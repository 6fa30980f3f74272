/* Counts of keys: LANES queries at once, one row [LANES] per key. Each pair of a query and a key has a gate, a number
 * between 0 and 1 by which the query counts the key. The count of key j is a sum of gates: the gate of key j, and the
 * gates of all later keys that the query sees. A table has a vector for every whole number; products [row][LANES] are
 * the products of the queries with these vectors. A count adds a term to the logit: the product in the row of this
 * number; for a count between two whole numbers, the term is interpolated between two products. */
#ifndef LONGHAND_KERNELS_COUNTS_H
#define LONGHAND_KERNELS_COUNTS_H

#include "kernels/cpu/functions.h"

/* Adds the gates of a key to the sums of gates, and returns the sums. Writes the gates, and the counts of the key: the
 * sums, limited to `most`. */
INLINE vector count_key(vector sum, real most, vector gate, real *gates, real *counts) {
    sum += gate;
    store(gates, gate);
    store(counts, minimum(sum, broadcast(most)));
    return sum;
}

/* The place of each lane's count between two rows of products. index: the lane's element in the lower row; share: the
 * count's distance to this row. */
typedef struct lh_between {
    bits index;
    vector share;
} lh_between;

INLINE lh_between find_between(vector count) {
    /* lane begins with any value: gcc 14 does not see that the loop sets every lane */
    bits row = __builtin_convertvector(count, bits), lane = ~lanes_before(0);
    UNROLL
    for (int k = 0; k < LANES; k++) lane[k] = k;
    return (lh_between){row * LANES + lane, count - __builtin_convertvector(row, vector)};
}

/* Loads for each lane an element of a row of products and the element of the next row; the rows differ from lane to
 * lane. */
INLINE void load_between(const real *products, bits index, vector *low, vector *high) {
    UNROLL
    for (int k = 0; k < LANES; k++) {
        (*low)[k] = products[index[k]];
        (*high)[k] = products[index[k] + LANES];
    }
}

/* The terms of counts: interpolated products. */
INLINE vector look_up_count(const real *products, vector count) {
    lh_between at = find_between(count);
    vector low, high;
    load_between(products, at.index, &low, &high);
    return low + at.share * (high - low);
}

/* Adds the gradients dterm of terms to the gradients of products; returns the gradients of counts. The gradient of a
 * count is 0 if the count is a whole number, for example at the limit `most`. */
INLINE vector look_up_count_grad(const real *products, real *dproducts, vector count, vector dterm) {
    lh_between at = find_between(count);
    vector low, high, dhigh = at.share * dterm, dlow = dterm - dhigh;
    load_between(products, at.index, &low, &high);
    UNROLL
    for (int k = 0; k < LANES; k++) {
        dproducts[at.index[k]] += dlow[k];
        dproducts[at.index[k] + LANES] += dhigh[k];
    }
    return keep_where(at.share > 0, dterm * (high - low));
}

#endif
