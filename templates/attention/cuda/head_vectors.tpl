INLINE void ${prefix}load_head(real x[${attends.head_part}], const real *from) {
    is_global(from);
#pragma unroll
    for (int d = 0; d < ${attends.head_part}; d += 4) {
% if attends.uneven_heads then
        quad part = {{0, 0, 0, 0}};
        if (${prefix}has_channel(d)) part = *(const quad *)(from + d);
% else
        const quad part = *(const quad *)(from + d);
% end
#pragma unroll
        for (int i = 0; i < 4; i++) x[d + i] = part.v[i];
    }
}

INLINE void ${prefix}store_head(const real x[${attends.head_part}], real scale, real *to) {
    is_global(to);
#pragma unroll
    for (int d = 0; d < ${attends.head_part}; d += 4) {
        quad part;
#pragma unroll
        for (int i = 0; i < 4; i++) part.v[i] = x[d + i] * scale;
        if (${prefix}has_channel(d)) *(quad *)(to + d) = part; % if attends.uneven_heads
        *(quad *)(to + d) = part; % else
    }
}

INLINE void ${prefix}clear_head(real x[${attends.head_part}]) {
#pragma unroll
    for (int d = 0; d < ${attends.head_part}; d++) x[d] = 0;
}

INLINE real ${prefix}dot_head(const real x[${attends.head_part}], const real y[${attends.head_part}]) {
    real sum = 0;
#pragma unroll
    for (int d = 0; d < ${attends.head_part}; d++) sum += x[d] * y[d];
% if attends.head_lanes > 1 then
#pragma unroll
    for (int distance = ${PREFIX}HEAD_LANES / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(${prefix}head_lanes(), sum, distance);
% end
    return sum;
}

/* x += factor * y */
INLINE void ${prefix}add_head(real x[${attends.head_part}], real factor, const real y[${attends.head_part}]) {
#pragma unroll
    for (int d = 0; d < ${attends.head_part}; d++) x[d] += factor * y[d];
}
