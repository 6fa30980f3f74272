/* Clipping and Adam on one piece, by a block: clip = min(1, max_norm / norm), rate = learning rate / (1 - b1^t),
 * correct2 = 1 / (1 - b2^t). All arrays but the gradient are written. Formula and source: kernels/cpu/adam.h. */

typedef struct adam {
    real clip, rate, correct2;
} adam;

/* Updates a piece. Returns in parameters and changes the sums of squares of its parameters and of their change. REST1
 * and REST2 are 1 - b1 and 1 - b2, computed in double and then rounded. */
INLINE void adam_piece(const adam a, const real *gradient, real *moment1, real *moment2, real *parameter,
                       double *parameters, double *changes) {
    const int e = 4 * threadIdx.x;
    is_global(gradient);
    is_global(moment1);
    is_global(moment2);
    is_global(parameter);
    const quad g = *(const quad *)(gradient + e);
    quad m = *(const quad *)(moment1 + e), v = *(const quad *)(moment2 + e), p = *(const quad *)(parameter + e);
    double square = 0, moved = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const real clipped = g.v[i] * a.clip;
        m.v[i] = m.v[i] * BETA1 + clipped * REST1;
        v.v[i] = v.v[i] * BETA2 + clipped * clipped * REST2;
        const real change = m.v[i] * a.rate / (sqrt(v.v[i] * a.correct2) + EPSILON);
        p.v[i] -= change;
        square += (double)p.v[i] * p.v[i];
        moved += (double)change * change;
    }
    *(quad *)(moment1 + e) = m;
    *(quad *)(moment2 + e) = v;
    *(quad *)(parameter + e) = p;
    *parameters = block_sum(square);
    *changes = block_sum(moved);
}
