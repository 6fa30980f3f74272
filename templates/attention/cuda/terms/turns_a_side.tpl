% section("turn")

/* Turns all rows of queries, or of keys, by their positions: direction 1; turns their gradients back: -1. */
NOINLINE void ${prefix}rotate(int direction, ${terms.placed and "const int *position, " or ""}int T, const int stride,
        real *turned) {
    const step_view *v = &block()->view;
    const int rows = block()->sequences * T;
    const int row_quads = WIDTH / 4, count = rows * row_quads;
    is_global(v->tables);
    is_global(turned);
    for (int q = threadIdx.x; q < count; q += THREADS) {
        const int row = q / row_quads, c = q % row_quads * 4;
        const real *turn = v->tables[${inline("place_of_row", "row % T")}].${prefix}rotation + c % ${PREFIX}ROTATION_PERIOD;
        real *at = turned + row * stride + c;
        const quad x = *(const quad *)at, cosine = *(const quad *)turn,
                sine = *(const quad *)(turn + ${PREFIX}ROTATION_PERIOD);
        quad y;
#pragma unroll
        for (int i = 0; i < 4; i++) y.v[i] = x.v[i] * cosine.v[i] + direction * (x.v[i ^ 1] * sine.v[i]);
        *(quad *)at = y;
    }
    __syncthreads();
}
