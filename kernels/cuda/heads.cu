/* Vectors of a head's channels in a thread, `count` of them from the thread's first channel on. `left` is the number of
 * channels that the head has from there on: `count`, unless the head's last thread has fewer channels. */

INLINE void load_channels(const int count, const int left, real *x, const real *from) {
    is_global(from);
#pragma unroll
    for (int d = 0; d < count; d += 4) {
        quad part = {{0, 0, 0, 0}};
        if (d < left) part = *(const quad *)(from + d);
#pragma unroll
        for (int i = 0; i < 4; i++) x[d + i] = part.v[i];
    }
}

INLINE void store_channels(const int count, const int left, const real *x, real scale, real *to) {
    is_global(to);
#pragma unroll
    for (int d = 0; d < count; d += 4) {
        quad part;
#pragma unroll
        for (int i = 0; i < 4; i++) part.v[i] = x[d + i] * scale;
        if (d < left) *(quad *)(to + d) = part;
    }
}

INLINE void clear_channels(const int count, real *x) {
#pragma unroll
    for (int d = 0; d < count; d++) x[d] = 0;
}

INLINE real dot_channels(const int count, const real *x, const real *y) {
    real sum = 0;
#pragma unroll
    for (int d = 0; d < count; d++) sum += x[d] * y[d];
    return sum;
}

/* x += factor * y */
INLINE void add_channels(const int count, real *x, real factor, const real *y) {
#pragma unroll
    for (int d = 0; d < count; d++) x[d] += factor * y[d];
}

/* The sum over the `lanes` adjacent lanes in `mask` that share a head, with the same bits in each of them. */
INLINE real sum_head_lanes(const int lanes, unsigned int mask, real sum) {
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(mask, sum, distance);
    return sum;
}
