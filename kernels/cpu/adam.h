/* Clipping by the global norm, then Adam.
 *
 *   g' = g min(1, max_norm / norm);  m = b1 m + (1 - b1) g';  v = b2 v + (1 - b2) g'^2
 *   p -= rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
 *
 * where rate is the learning rate. Source: Kingma and Ba 2015, algorithm 1; epsilon outside the root, like optax.
 * Reference: lh_ref_adam_update.
 */
#ifndef LONGHAND_KERNELS_ADAM_H
#define LONGHAND_KERNELS_ADAM_H

#include <stdbool.h>

#include "kernels/cpu/gradient.h"
#include "longhand/math.h"

typedef struct adam {
    double beta1, beta2, epsilon;
} adam;

/* Updates elements [first, first + count) of u's vectors. clip: the factor min(1, max_norm / norm) of the gradient.
 * decays (a constant in every call): whether each parameter also loses a share of itself, given by shares [count].
 * 1 - b1 and 1 - b2 are computed in double and then rounded: in float, 1 - 0.999 would have a relative error of 1.3e-5.
 */
INLINE void update_by_adam(const bool decays, const lh_update *u, const adam a, const real *shares, double clip,
                           size_t first, size_t count, lh_update_sums *sums) {
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
        vector change = m * rate / (sqrt_of(v * correct2) + epsilon);
        if (decays) change += p * load(shares + i);
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

INLINE void adam_update(const lh_update *u, const adam a, double clip, size_t first, size_t count,
                        lh_update_sums *sums) {
    update_by_adam(false, u, a, NULL, clip, first, count, sums);
}

#endif
