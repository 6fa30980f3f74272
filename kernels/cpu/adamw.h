/* Clipping by the global norm, then Adam with decoupled weight decay: kernels/cpu/adam.h, and
 *
 *   p -= learning rate * decay * p
 *
 * with p before the step. Source: Loshchilov and Hutter 2019, algorithm 2, in the form of PyTorch's AdamW, where the
 * learning rate also scales the decay. With share = learning rate * decay, share * p is subtracted together with the
 * step's change; a multiplication of p by 1 - share would lose most digits of a small share in float32. Reference:
 * lh_ref_adamw_update.
 */
#ifndef LONGHAND_KERNELS_ADAMW_H
#define LONGHAND_KERNELS_ADAMW_H

#include "kernels/cpu/adam.h"

/* Elements first .. last of the parameter vector. */
typedef struct element_range {
    int first, last;
} element_range;

/* shares[count] = share for the elements from `first` on, but 0 for elements in the ranges `spared`. */
INLINE void spread_decay(double share, const element_range *spared, int ranges, size_t first, size_t count,
                         real *shares) {
    const int end = (int)(first + count);
    for (size_t i = 0; i < count; i++) shares[i] = (real)share;
    for (int range = 0; range < ranges; range++) {
        int from = spared[range].first > (int)first ? spared[range].first : (int)first;
        int to = spared[range].last < end ? spared[range].last + 1 : end;
        for (int e = from; e < to; e++) shares[(size_t)e - first] = 0;
    }
}

/* As adam_update, with weight decay; shares: [count] learning rate * decay of each element. */
INLINE void adamw_update(const lh_update *u, const adam a, const real *shares, double clip, size_t first, size_t count,
                         lh_update_sums *sums) {
    real *parameter = (real *)u->parameters + first, *gradient = (real *)u->gradient + first;
    real *moment1 = (real *)u->state[0] + first, *moment2 = (real *)u->state[1] + first;
    const real scale = (real)clip, b1 = (real)a.beta1, b2 = (real)a.beta2, epsilon = (real)a.epsilon;
    const real rest1 = (real)(1 - a.beta1), rest2 = (real)(1 - a.beta2);
    const real rate = (real)(u->learning_rate / (1 - lh_power(a.beta1, u->step)));
    const real correct2 = (real)(1 / (1 - lh_power(a.beta2, u->step)));
    vector squares = {0}, changes = {0};
    for (size_t i = 0; i < count; i += LANES) {
        vector g = load(gradient + i) * scale;
        vector m = load(moment1 + i) * b1 + g * rest1;
        vector v = load(moment2 + i) * b2 + g * g * rest2;
        vector p = load(parameter + i);
        vector change = m * rate / (square_root(v * correct2) + epsilon) + p * load(shares + i);
        p -= change;
        store(moment1 + i, m);
        store(moment2 + i, v);
        store(parameter + i, p);
        store(gradient + i, (vector){0});
        squares += p * p;
        changes += change * change;
    }
    sums->parameters += (double)sum_lanes(squares);
    sums->update += (double)sum_lanes(changes);
}

#endif
