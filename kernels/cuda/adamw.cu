/* Clipping and Adam with decoupled weight decay on a piece, as in adam.cu. Formula and source: kernels/cpu/adamw.h.
 * Reference: lh_ref_adamw_update. */

/* base^n, computed as the host's lh_power does. */
INLINE double whole_power(double base, unsigned int n) {
    double result = 1;
    for (; n > 0; n >>= 1, base *= base)
        if (n & 1) result *= base;
    return result;
}

/* Updates a piece. Returns in parameters and changes the sums of squares of its parameters and of their change. shares:
 * learning rate * decay for each of a thread's elements. REST1 and REST2 are 1 - b1 and 1 - b2, computed in double and
 * then rounded. */
INLINE void adamw_piece(const adam a, const quad shares, const real *gradient, real *moment1, real *moment2,
                        real *parameter, double *parameters, double *changes) {
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
        const real change = m.v[i] * a.rate / (sqrt(v.v[i] * a.correct2) + EPSILON) + p.v[i] * shares.v[i];
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
