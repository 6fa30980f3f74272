/* The output layer and softmax cross-entropy of one token.
 *
 * Weights are [C][columns], where columns is the number of classes rounded up to vectors of the widest level; extra
 * columns are zero, have a zero gradient and are never the arg max. Reference: lh_ref_cross_entropy.
 */
#ifndef LONGHAND_KERNELS_CROSSENTROPY_H
#define LONGHAND_KERNELS_CROSSENTROPY_H

#include "kernels/cpu/math.h"
#include "longhand/math.h"

/* logits[columns] = x[C] w + b, summed over c in four interleaved parts; b NULL: no bias. */
INLINE void class_logits(const int C, const int columns, const real *restrict x, const real *restrict w,
                         const real *restrict b, real *restrict logits) {
    for (int n = 0; n < columns; n += LANES) {
        vector sum[4] = {b ? load(b + n) : (vector){0}, {0}, {0}, {0}};
        for (int c = 0; c < C; c += 4) {
            UNROLL
            for (int i = 0; i < 4; i++) sum[i] += x[c + i] * load(w + (c + i) * columns + n);
        }
        store(logits + n, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

/* The index of the largest of logits[classes]; the first one wins a tie. */
INLINE int find_class(const int classes, const real *logits) {
    int best = 0;
    for (int v = 1; v < classes; v++)
        if (logits[v] > logits[best]) best = v;
    return best;
}

/* Returns the loss in nats; logits[columns] become the softmax, zero beyond the classes. */
INLINE double softmax_loss(const int classes, const int columns, real *restrict logits, int label) {
    real largest = logits[find_class(classes, logits)], label_logit = logits[label], sum = 0;
    for (int v = 0; v < columns; v += LANES) store(logits + v, exp_negative(load(logits + v) - largest));
    for (int v = classes; v < columns; v++) logits[v] = 0;
    for (int v = 0; v < classes; v++) sum += logits[v];
    for (int v = 0; v < columns; v += LANES) store(logits + v, load(logits + v) / sum);
    return lh_log((double)sum) + (double)(largest - label_logit);
}

/* With g[columns] the gradient of the logits: dw += x^T g, db += g, dx[C] = g w^T; w_rows [classes][C] is w^T. */
INLINE void class_grad(const int C, const int classes, const int columns, const real *restrict x,
                       const real *restrict g, const real *restrict w_rows, real *restrict dw, real *restrict db,
                       real *restrict dx) {
    for (int n = 0; n < columns; n += LANES) {
        vector gradient = load(g + n);
        store(db + n, load(db + n) + gradient);
        for (int c = 0; c < C; c++) store(dw + c * columns + n, load(dw + c * columns + n) + x[c] * gradient);
    }
    for (int c = 0; c < C; c += LANES) {
        vector sum = {0};
        for (int v = 0; v < classes; v++) sum += g[v] * load(w_rows + v * C + c);
        store(dx + c, sum);
    }
}

/* class_grad for weights that are tied to the token vectors and have no bias: dw_rows [classes][C] += g^T x. */
INLINE void tied_class_grad(const int C, const int classes, const real *restrict x, const real *restrict g,
                            const real *restrict w_rows, real *restrict dw_rows, real *restrict dx) {
    for (int c = 0; c < C; c += LANES) {
        vector sum = {0}, input = load(x + c);
        for (int v = 0; v < classes; v++) {
            sum += g[v] * load(w_rows + v * C + c);
            store(dw_rows + v * C + c, load(dw_rows + v * C + c) + g[v] * input);
        }
        store(dx + c, sum);
    }
}

/* w[C][columns] from w_rows [classes][C], zero in the extra columns. */
INLINE void transpose_classes(const int C, const int classes, const int columns, const real *restrict w_rows,
                              real *restrict w) {
    for (int c = 0; c < C; c++)
        for (int v = 0; v < columns; v++) w[c * columns + v] = v < classes ? w_rows[v * C + c] : 0;
}

#endif
