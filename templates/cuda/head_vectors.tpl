INLINE void load_head(real x[${cuda.head_part}], const real *from) {
    is_global(from);
#pragma unroll
    for (int d = 0; d < ${cuda.head_part}; d += 4) {
% if cuda.uneven_heads then
        quad part = {{0, 0, 0, 0}};
        if (has_channel(d)) part = *(const quad *)(from + d);
% else
        const quad part = *(const quad *)(from + d);
% end
#pragma unroll
        for (int i = 0; i < 4; i++) x[d + i] = part.v[i];
    }
}

INLINE void store_head(const real x[${cuda.head_part}], real scale, real *to) {
    is_global(to);
#pragma unroll
    for (int d = 0; d < ${cuda.head_part}; d += 4) {
        quad part;
#pragma unroll
        for (int i = 0; i < 4; i++) part.v[i] = x[d + i] * scale;
        ${cuda.uneven_heads and "if (has_channel(d)) " or ""}*(quad *)(to + d) = part;
    }
}

INLINE void clear_head(real x[${cuda.head_part}]) {
#pragma unroll
    for (int d = 0; d < ${cuda.head_part}; d++) x[d] = 0;
}

INLINE real dot_head(const real x[${cuda.head_part}], const real y[${cuda.head_part}]) {
    real sum = 0;
#pragma unroll
    for (int d = 0; d < ${cuda.head_part}; d++) sum += x[d] * y[d];
% if cuda.head_lanes > 1 then
#pragma unroll
    for (int distance = HEAD_LANES / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(head_lanes(), sum, distance);
% end
    return sum;
}

/* x += factor * y */
INLINE void add_head(real x[${cuda.head_part}], real factor, const real y[${cuda.head_part}]) {
#pragma unroll
    for (int d = 0; d < ${cuda.head_part}; d++) x[d] += factor * y[d];
}
