% local query = relative.biases and "2 * HEAD_WIDTH" or "HEAD_WIDTH"

% if relative.toeplitz then
/* Adds the gradients of KEYS rows, from row x on; lanes are channels. Row x is that of query i and key i + T - 1 - x;
 * pairs of which the key does not exist have zeros in dlogits. */
INLINE void relative_rows_grad(int T, int x, const head_scratch *scratch, real *restrict drows) {
    head_vector dr[KEYS][HEAD_PARTS];
    UNROLL
    for (int u = 0; u < KEYS; u++) {
        UNROLL
        for (int part = 0; part < HEAD_PARTS; part++) dr[u][part] = (head_vector){0};
    }
    int key = T - 1 - x, i = key < 0 ? -key : 0, end = T - key + KEYS - 1 < T ? T - key + KEYS - 1 : T;
    while (i < end) {
        int first = i / LANES * LANES, stop = first + LANES < end ? first + LANES : end;
        const real *dlogits = scratch->dlogits + KEYS * LANES + first / LANES * group_dlogits(T) - first;
        for (; i < stop; i++) {
            const real *row = scratch->rows + i * ${relative.vectors} * HEAD_WIDTH + ${query};
            const real *dlogit = dlogits + (i + key) * LANES + i;
            UNROLL
            for (int part = 0; part < HEAD_PARTS; part++) {
                head_vector q = *(const head_vector *)(row + part * HEAD_PART);
                UNROLL
                for (int u = 0; u < KEYS; u++) dr[u][part] += q * dlogit[-u * LANES];
            }
        }
    }
    for (int u = 0; u < KEYS && x + u < relative_count(T); u++) {
        UNROLL
        for (int part = 0; part < HEAD_PARTS; part++)
            *(head_vector *)(drows + (x + u) * RELATIVE_WIDTH + part * HEAD_PART) += dr[u][part];
    }
}
% else
/* Adds the gradients of the rows of all pairs of query i; lanes are channels. */
INLINE void relative_rows_grad(const relative_head *relative, int T, int i, const head_scratch *scratch) {
    const real *row = scratch->rows + i * ${relative.vectors} * HEAD_WIDTH + ${query};
    const real *dlogit = scratch->dlogits + i / LANES * group_weights(T) + i % LANES;
    for (int j = 0; j < T; j++) {
        real *drow = relative->drows + pair_offset(relative, i, j);
        UNROLL
        for (int part = 0; part < HEAD_PARTS; part++)
            *(head_vector *)(drow + part * HEAD_PART) +=
                    *(const head_vector *)(row + part * HEAD_PART) * dlogit[j * LANES];
    }
}
% end
