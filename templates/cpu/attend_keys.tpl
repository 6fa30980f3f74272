/* Gradients of KEYS keys and values, from key j on; lanes are channels here. */
INLINE void attend_${name}_keys(int T, int j, const real *restrict weights, const head_scratch *scratch,
        real *restrict dkey, real *restrict dvalue) {
    head_vector dk[KEYS][HEAD_PARTS], dv[KEYS][HEAD_PARTS];
    UNROLL
    for (int u = 0; u < KEYS; u++) {
        UNROLL
        for (int part = 0; part < HEAD_PARTS; part++) dk[u][part] = dv[u][part] = (head_vector){0};
    }
    const real *row = scratch->rows;
    for (int first = 0; first < T; first += LANES) {
        const real *weight = weights + first / LANES * group_weights(T) + ${row} * LANES;
        const real *dlogit = scratch->dlogits${start} + first / LANES * ${step} + ${row} * LANES;
        int count = T - first < LANES ? T - first : LANES;
        for (int i = 0; i < count; i++, row += ${relative.vectors} * HEAD_WIDTH) {
            UNROLL
            for (int part = 0; part < HEAD_PARTS; part++) {
                head_vector g = *(const head_vector *)(row + part * HEAD_PART);
                head_vector q = *(const head_vector *)(row + HEAD_WIDTH + part * HEAD_PART);
                UNROLL
                for (int u = 0; u < KEYS; u++) {
                    dv[u][part] += g * weight[${at}];
                    dk[u][part] += q * dlogit[${at}];
                }
            }
        }
    }
    for (int u = 0; u < KEYS && j + u < T; u++) {
        UNROLL
        for (int part = 0; part < HEAD_PARTS; part++) {
            *(head_vector *)(dkey + (j + u) * QUERY_STRIDE + part * HEAD_PART) = dk[u][part];
            *(head_vector *)(dvalue + (j + u) * QUERY_STRIDE + part * HEAD_PART) = dv[u][part];
        }
    }
}
