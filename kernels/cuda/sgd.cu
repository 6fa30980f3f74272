/* Clipping and gradient descent on one piece (pieces.cu), with or without momentum, by a block. gradient, running,
 * parameter: [PIECE] in global memory; running and parameter are written. clip: min(1, max_norm / norm); rate: the
 * learning rate. Formulas and source: kernels/cpu/sgd.h. References: lh_ref_sgd_update, lh_ref_momentum_update. */

typedef struct sgd {
    real clip, rate;
} sgd;

/* Updates a piece. Returns in parameters and changes the sums of squares of its parameters and of their change. */
INLINE void sgd_piece(const sgd a, const real *gradient, real *parameter, double *parameters, double *changes) {
    const int e = 4 * threadIdx.x;
    is_global(gradient);
    is_global(parameter);
    const quad g = *(const quad *)(gradient + e);
    quad p = *(const quad *)(parameter + e);
    double square = 0, moved = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const real change = g.v[i] * a.clip * a.rate;
        p.v[i] -= change;
        square += (double)p.v[i] * p.v[i];
        moved += (double)change * change;
    }
    *(quad *)(parameter + e) = p;
    *parameters = block_sum(square);
    *changes = block_sum(moved);
}

/* Updates a piece along a running sum of gradients; returns the same sums as sgd_piece. */
INLINE void momentum_piece(const sgd a, const real *gradient, real *running, real *parameter, double *parameters,
                           double *changes) {
    const int e = 4 * threadIdx.x;
    is_global(gradient);
    is_global(running);
    is_global(parameter);
    const quad g = *(const quad *)(gradient + e);
    quad s = *(const quad *)(running + e), p = *(const quad *)(parameter + e);
    double square = 0, moved = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        s.v[i] = s.v[i] * MOMENTUM + g.v[i] * a.clip;
        const real change = s.v[i] * a.rate;
        p.v[i] -= change;
        square += (double)p.v[i] * p.v[i];
        moved += (double)change * change;
    }
    *(quad *)(running + e) = s;
    *(quad *)(parameter + e) = p;
    *parameters = block_sum(square);
    *changes = block_sum(moved);
}
