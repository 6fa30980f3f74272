/* Clipping and Adam with decoupled weight decay on a piece of PIECE elements. Formula and source: kernels/cpu/adamw.h.
 * Reference: lh_ref_adamw_update. */

/* base^n, bit-identical to lh_power on the host. */
INLINE double integer_power(double base, unsigned int n) {
    double result = 1;
    for (; n > 0; n >>= 1, base *= base)
        if (n & 1) result *= base;
    return result;
}

/* A block updates a piece. shares: for each of the thread's elements, the share by which the element decays, which is
 * learning rate * decay. The first thread gets `squares`: the sum of the squares of the new parameters, and the
 * sum of the squares of their changes. REST1 and REST2 are 1 - b1 and 1 - b2, computed in double and then rounded. */
INLINE void adamw_piece(const adam a, const real shares[PIECE_PART], const real *gradient, real *moment1, real *moment2,
                        real *parameter, double squares[2]) {
    real g[PIECE_PART], m[PIECE_PART], v[PIECE_PART], p[PIECE_PART];
    load_piece(gradient, g);
    load_piece(moment1, m);
    load_piece(moment2, v);
    load_piece(parameter, p);
    squares[0] = squares[1] = 0;
#pragma unroll
    for (int i = 0; i < PIECE_PART; i++) {
        const real clipped = g[i] * a.clip;
        m[i] = m[i] * BETA1 + clipped * REST1;
        v[i] = v[i] * BETA2 + clipped * clipped * REST2;
        const real change = m[i] * a.rate / (sqrt(v[i] * a.correct2) + EPSILON) + p[i] * shares[i];
        p[i] -= change;
        squares[0] += (double)p[i] * p[i];
        squares[1] += (double)change * change;
    }
    store_piece(m, moment1);
    store_piece(v, moment2);
    store_piece(p, parameter);
    block_sums(squares);
}
