/* A block clips the gradient of one piece of PIECE elements and updates its parameters by gradient descent, with or
 * without momentum. The arrays `gradient`, `running` and `parameter` are [PIECE] in global memory; all but the
 * gradient are written. clip: min(1, max_norm / norm); rate: the learning rate. Formulas and source:
 * kernels/cpu/sgd.h. References: lh_ref_sgd_update, lh_ref_momentum_update. */

typedef struct sgd {
    real clip, rate;
} sgd;

/* Updates a piece. Only the first thread gets `squares`: the sum of the squares of the new parameters, and the sum
 * of the squares of their changes. */
INLINE void sgd_piece(const sgd a, const real *gradient, real *parameter, double squares[2]) {
    real g[PIECE_PART], p[PIECE_PART];
    load_piece(gradient, g);
    load_piece(parameter, p);
    squares[0] = squares[1] = 0;
#pragma unroll
    for (int i = 0; i < PIECE_PART; i++) {
        const real change = g[i] * a.clip * a.rate;
        p[i] -= change;
        squares[0] += (double)p[i] * p[i];
        squares[1] += (double)change * change;
    }
    store_piece(p, parameter);
    block_sums(squares);
}

/* Updates a piece, with momentum: `running` is the running sum of gradients. squares: see sgd_piece. */
INLINE void momentum_piece(const sgd a, const real *gradient, real *running, real *parameter, double squares[2]) {
    real g[PIECE_PART], s[PIECE_PART], p[PIECE_PART];
    load_piece(gradient, g);
    load_piece(running, s);
    load_piece(parameter, p);
    squares[0] = squares[1] = 0;
#pragma unroll
    for (int i = 0; i < PIECE_PART; i++) {
        s[i] = s[i] * MOMENTUM + g[i] * a.clip;
        const real change = s[i] * a.rate;
        p[i] -= change;
        squares[0] += (double)p[i] * p[i];
        squares[1] += (double)change * change;
    }
    store_piece(s, running);
    store_piece(p, parameter);
    block_sums(squares);
}
