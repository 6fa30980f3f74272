% local random, by_sequence = positions.kind == "randomized", positions.kind == "sequence"
% local T = cross and "T" or "v->" .. attends.T
% local row_place = by_sequence and "position[row]" or random and ("position[row % " .. T .. "]") or "row % " .. T
% if cross then
/* Turns all rows of queries, or of keys, by their positions: direction 1; turns their gradients back: -1. */
% define("NOINLINE void " .. prefix .. "rotate", "int direction", (random or by_sequence) and "const int *position", "int T", "const int stride", "real *turned")
    const step_view *v = &block()->view;
    const int rows = block()->sequences * T;
% else
/* Turns queries and keys of all rows by their positions: direction 1; turns their gradients back: -1. */
NOINLINE void ${prefix}rotate(int direction, real *query_key_value) {
    const step_view *v = &block()->view;
    const int rows = block()->sequences * ${T};
% end
% if by_sequence and not cross then
    const int *position = ${attends.sequences}();
% elseif random and not cross then
    const int *position = ${prefix}positions_of(v, block()->l);
% end
% if cross then
    const int row_quads = WIDTH / 4, count = rows * row_quads;
% else
    const int row_quads = 2 * WIDTH / 4, count = rows * row_quads;
% end
    is_global(v->tables);
    is_global(${cross and "turned" or "query_key_value"});
    for (int q = threadIdx.x; q < count; q += THREADS) {
        const int row = q / row_quads, c = q % row_quads * 4;
        const real *turn = v->tables[${row_place}].${prefix}rotation + c % ${PREFIX}ROTATION_PERIOD;
% if cross then
        real *at = turned + row * stride + c;
% else
        real *at = query_key_value + row * ${PREFIX}QUERY_STRIDE + c;
% end
        const quad x = *(const quad *)at, cosine = *(const quad *)turn, sine = *(const quad *)(turn + ${PREFIX}ROTATION_PERIOD);
        quad y;
#pragma unroll
        for (int i = 0; i < 4; i++) y.v[i] = x.v[i] * cosine.v[i] + direction * (x.v[i ^ 1] * sine.v[i]);
        *(quad *)at = y;
    }
    __syncthreads();
}
