enum { AT_ONCE = 4 /* quads that a thread loads at a time */ };

/* Loads up to AT_ONCE quads of x for a thread, with the indices `first`, `first` + THREADS, ..., all below `count`. */
INLINE void fetch_quads(const real *x, int first, int count, quad part[AT_ONCE]) {
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++)
        if (first + u * THREADS < count) part[u] = *(const quad *)(x + 4 * (first + u * THREADS));
}

/* x[rows][columns] += bias[columns]; then, if rectified, x = max(x, 0). */
INLINE void add_bias(int rows, const int columns, const real *bias, const bool rectified, real *x) {
    const int count = rows * (columns / 4);
    for (int first = threadIdx.x; first < count; first += AT_ONCE * THREADS) {
        quad part[AT_ONCE];
        fetch_quads(x, first, count, part);
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            const int q = first + u * THREADS;
            if (q >= count) break;
            const quad add = *(const quad *)(bias + 4 * (q % (columns / 4)));
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const real sum = part[u].v[i] + add.v[i];
                part[u].v[i] = rectified && !(sum > 0) ? 0 : sum;
            }
            *(quad *)(x + 4 * q) = part[u];
        }
    }
    __syncthreads();
}

/* dx = 0 unless x > 0. */
INLINE void rectify_grad(int elements, const real *x, real *dx) {
    const int count = elements / 4;
    for (int first = threadIdx.x; first < count; first += AT_ONCE * THREADS) {
        quad value[AT_ONCE], part[AT_ONCE];
        fetch_quads(x, first, count, value);
        fetch_quads(dx, first, count, part);
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            const int q = first + u * THREADS;
            if (q >= count) break;
#pragma unroll
            for (int i = 0; i < 4; i++) part[u].v[i] = value[u].v[i] > 0 ? part[u].v[i] : 0;
            *(quad *)(dx + 4 * q) = part[u];
        }
    }
    __syncthreads();
}
