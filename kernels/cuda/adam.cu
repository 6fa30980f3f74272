/* Factors for step t of Adam and AdamW: clip = min(1, max_norm / norm of the gradient),
 * rate = learning rate / (1 - b1^t), correct2 = 1 / (1 - b2^t). */
typedef struct adam {
    real clip, rate, correct2;
} adam;

/* A block clips the gradient of a piece of PIECE elements and updates the parameters of the piece. Arrays are
 * [PIECE] in global memory; all but the gradient are written. The first thread gets `squares`: the sum of the
 * squares of the new parameters, and the sum of the squares of their changes. REST1 and REST2 are 1 - b1 and 1 - b2,
 * computed in double and then rounded. */
INLINE void adam_piece(const adam a, const real *gradient, real *moment1, real *moment2, real *parameter,
                       double squares[2]) {
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
        const real change = m[i] * a.rate / (sqrt(v[i] * a.correct2) + EPSILON);
        p[i] -= change;
        squares[0] += (double)p[i] * p[i];
        squares[1] += (double)change * change;
    }
    store_piece(m, moment1);
    store_piece(v, moment2);
    store_piece(p, parameter);
    block_sums(squares);
}
