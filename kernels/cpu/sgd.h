/* Clipping by the global norm, then gradient descent, with or without momentum.
 *
 *   g' = g min(1, max_norm / norm);  p -= rate g'
 *   with momentum: s = momentum s + g';  p -= rate s
 *
 * where rate is the learning rate. Source: Sutskever et al. 2013, as PyTorch's SGD without dampening does it: the rate
 * scales the sum s and not the gradients added to s, so a change of the rate does not change s. References:
 * lh_ref_sgd_update, lh_ref_momentum_update.
 */
#ifndef LONGHAND_KERNELS_SGD_H
#define LONGHAND_KERNELS_SGD_H

#include <stdbool.h>

#include "kernels/cpu/gradient.h"

/* Updates elements [first, first + count) of u's vectors; clip scales the gradient. accumulates (a constant in every
 * call): whether there is momentum; its sum s is u->state[0]. */
INLINE void update_by_descent(const bool accumulates, const lh_update *u, double momentum, double clip, size_t first,
                              size_t count, lh_update_sums *sums) {
    real *parameter = (real *)u->parameters + first, *gradient = (real *)u->gradient + first;
    real *running = accumulates ? (real *)u->state[0] + first : NULL;
    const real scale = (real)clip, rate = (real)u->learning_rate, factor = (real)momentum;
    vector squares = {0}, changes = {0};
    for (size_t i = 0; i < count; i += LANES) {
        vector s = accumulates ? load(running + i) * factor + load(gradient + i) * scale : load(gradient + i) * scale;
        vector change = s * rate;
        vector p = load(parameter + i) - change;
        if (accumulates) store(running + i, s);
        store(parameter + i, p);
        store(gradient + i, (vector){0});
        squares += p * p;
        changes += change * change;
    }
    sums->parameters += (double)sum_lanes(squares);
    sums->update += (double)sum_lanes(changes);
}

INLINE void sgd_update(const lh_update *u, double clip, size_t first, size_t count, lh_update_sums *sums) {
    update_by_descent(false, u, 0, clip, first, count, sums);
}

INLINE void momentum_update(const lh_update *u, double momentum, double clip, size_t first, size_t count,
                            lh_update_sums *sums) {
    update_by_descent(true, u, momentum, clip, first, count, sums);
}

#endif
