/* Converts a group's sums to gradients of its queries and of the layer's parameters. right, left: sums of dlogits; dq
 * [HEAD_WIDTH] is overwritten. */
INLINE void end_${name}_queries(const ${name}_head *head, int first, const real *restrict query, vector right,
        vector left, vector *dq, real *restrict dquery) {
    const int T = head->T;
    bits live = lanes_before(T - first);
    vector q[${PREFIX}HEAD_WIDTH], dscale = {0};
    load_columns(${PREFIX}HEAD_WIDTH, T, first, ${PREFIX}QUERY_STRIDE, query, 1, q);
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
        dscale += (q[d] + head->content_bias[d]) * dq[d];
        dq[d] *= head->numbers.scale;
        head->dcontent_bias[d] += keep_where(live, dq[d]);
    }
    head->sums->scale += keep_where(live, dscale);
    head->sums->offset += keep_where(live, right + left);
% if terms.directional then
    vector direction[2], ddirection[2] = {right * head->numbers.direction_scale, left * head->numbers.direction_scale};
    load_columns(2, T, first, ${PREFIX}DIRECTION_WIDTH, head->direction, 1, direction);
    head->sums->direction_scale += keep_where(live, right * direction[0] + left * direction[1]);
    store_columns(2, T, first, ${PREFIX}DIRECTION_WIDTH, ddirection, head->ddirection);
% end
    store_columns(${PREFIX}HEAD_WIDTH, T, first, ${PREFIX}QUERY_STRIDE, dq, dquery);
}

% local of_many = terms.normalised and "(dweight[u] - mean)" or "dweight[u]"
/* gains [keys][LANES] = weight times the gradient of the weight. */
INLINE void write_${name}_gains(int T, const vector *g, vector mean, const real *restrict value,
        const real *restrict weights, real *restrict gains) {
    int j = 0;
    for (; j + SIDE_BY_SIDE <= T; j += SIDE_BY_SIDE) {
        vector dweight[SIDE_BY_SIDE];
        dot_rows(${PREFIX}HEAD_WIDTH, SIDE_BY_SIDE, g, ${PREFIX}QUERY_STRIDE, value + j * ${PREFIX}QUERY_STRIDE,
                dweight);
        UNROLL
        for (int u = 0; u < SIDE_BY_SIDE; u++)
            store(gains + (j + u) * LANES, load(weights + (j + u) * LANES) * ${of_many});
    }
    for (; j < T; j++) store(gains + j * LANES, % if terms.normalised then
            load(weights + j * LANES) * (dot_row(${PREFIX}HEAD_WIDTH, g, value + j * ${PREFIX}QUERY_STRIDE) - mean));
    for (; j < T; j++) store(gains + j * LANES, % else
            load(weights + j * LANES) * dot_row(${PREFIX}HEAD_WIDTH, g, value + j * ${PREFIX}QUERY_STRIDE));
}

/* Writes gradients of queries${terms.directional and " and directions" or ""}, and the rows that the pass over keys reads. */
INLINE void attend_${name}_queries(const ${name}_head *head, const real *restrict query, const real *restrict key,
        const real *restrict out, const real *restrict dout, ${name}_kept kept, const ${name}_scratch *scratch,
        real *restrict dquery) {
    const int T = head->T;
    real *dlogits = scratch->dlogits;
    const int first_group = ${name}_first_group(head);
    for (int first = ${first_group}; first < ${to_query}; first += LANES) {
        vector g[${PREFIX}HEAD_WIDTH], dq[${PREFIX}HEAD_WIDTH], right, left;
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, dout, 1, g);
% if terms.normalised then
        vector o[${PREFIX}HEAD_WIDTH], mean = {0}, inverse = load(kept.inverse_sum + first);
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, out, 1, o);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
            g[d] *= inverse;
            mean += g[d] * o[d];
        }
        /* sums below LEAST_TOTAL have a constant divisor */
        mean = keep_where(inverse < 1 / ${PREFIX}LEAST_TOTAL, mean);
% end
        write_${name}_gains(T, g, mean, key + WIDTH, kept.weights, dlogits);
        share_inwards(T, first, kept.chances, dlogits, head->along, head->across, &right, &left);
        weighted_rows(${PREFIX}HEAD_WIDTH, T, dlogits, ${PREFIX}QUERY_STRIDE, key, dq);
        end_${name}_queries(head, first, query, right, left, dq, dquery);
        kept.weights += kept.step;
        kept.chances += kept.step;
        dlogits += ${name}_group_weights(T);
    }
    for (int t = ${from_query}; t < ${to_query}; t++) {
        real *row = scratch->rows + t * 2 * ${PREFIX}HEAD_WIDTH;
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d += ${PREFIX}HEAD_PART) {
            const ${name}_part *g = (const ${name}_part *)(dout + t * WIDTH + d);
            const ${name}_part *q = (const ${name}_part *)(query + t * ${PREFIX}QUERY_STRIDE + d);
            const ${name}_part *bias = (const ${name}_part *)(head->content_bias + d);
            *(${name}_part *)(row + d) = *g${terms.normalised and " * kept.inverse_sum[t]" or ""};
            *(${name}_part *)(row + ${PREFIX}HEAD_WIDTH + d) = (*q + *bias) * head->numbers.scale;
        }
    }
}
