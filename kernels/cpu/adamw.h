/* Clipping by the global norm, then Adam with decoupled weight decay: kernels/cpu/adam.h, and
 *
 *   p -= learning rate * decay * p
 *
 * with p before the step. Source: Loshchilov and Hutter 2019, algorithm 2, as PyTorch's AdamW does it: the learning
 * rate also scales the decay. With share = learning rate * decay, share * p is subtracted together with the step's
 * change; a multiplication of p by 1 - share would lose most digits of a small share in float32. Reference:
 * lh_ref_adamw_update.
 */
#ifndef LONGHAND_KERNELS_ADAMW_H
#define LONGHAND_KERNELS_ADAMW_H

#include "kernels/cpu/adam.h"

/* A range of elements of the parameter vector, both ends included. */
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

/* Adam with weight decay. shares [count]: for each element learning rate * decay, 0 if it does not decay. */
INLINE void adamw_update(const lh_update *u, const adam a, const real *shares, double clip, size_t first, size_t count,
                         lh_update_sums *sums) {
    update_by_adam(true, u, a, shares, clip, first, count, sums);
}

#endif
