/* Computes gradients of a group's queries and of the layer's parameters. right, left: sums of dlogits over the keys on
 * each side; dq [HEAD_WIDTH]: sums of dlogits times keys, overwritten. */
INLINE void end_${name}_queries(const ${name}_head *head, int first, const real *restrict query, vector right,
        vector left, vector *dq, real *restrict dquery) {
    const int T = head->T;
    bits in_range = lanes_before(T - first);
    vector q[${PREFIX}HEAD_WIDTH], dscale = {0};
    load_columns(${PREFIX}HEAD_WIDTH, T, first, ${PREFIX}QUERY_STRIDE, query, 1, q);
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
        dscale += (q[d] + head->content_bias[d]) * dq[d];
        dq[d] *= head->numbers.scale;
        head->dcontent_bias[d] += keep_where(in_range, dq[d]);
    }
    head->sums->scale += keep_where(in_range, dscale);
    head->sums->offset += keep_where(in_range, right + left);
% if terms.has_directions then
    vector direction[2], ddirection[2] = {right * head->numbers.direction_scale, left * head->numbers.direction_scale};
    load_columns(2, T, first, ${PREFIX}DIRECTION_WIDTH, head->direction, 1, direction);
    head->sums->direction_scale += keep_where(in_range, right * direction[0] + left * direction[1]);
    store_columns(2, T, first, ${PREFIX}DIRECTION_WIDTH, ddirection, head->ddirection);
% end
    store_columns(${PREFIX}HEAD_WIDTH, T, first, ${PREFIX}QUERY_STRIDE, dq, dquery);
}

/* Writes gradients of queries${terms.has_directions and " and directions" or ""}, and the rows that the pass over keys reads; adds gradients of parameters. */
INLINE void attend_${name}_queries(const ${name}_head *head, const real *restrict query, const real *restrict key,
        const real *restrict out, const real *restrict dout, ${name}_saved saved, const ${name}_scratch *scratch,
        real *restrict dquery) {
    const int T = head->T;
    real *dlogits = scratch->dlogits;
    const int first_group = ${name}_first_group(head);
    for (int first = ${first_group}; first < ${to_query}; first += LANES) {
        vector g[${PREFIX}HEAD_WIDTH], dq[${PREFIX}HEAD_WIDTH], mean = {0}, right, left;
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, dout, 1, g);
% if terms.normalised then
        vector o[${PREFIX}HEAD_WIDTH], inverse = load(saved.inverse_sum + first);
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, out, 1, o);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
            g[d] *= inverse;
            mean += g[d] * o[d];
        }
        /* if the sum of weights is below LEAST_TOTAL, the divisor is constant */
        mean = keep_where(inverse < 1 / ${PREFIX}LEAST_TOTAL, mean);
% end
        write_gains(${PREFIX}HEAD_WIDTH, ${PREFIX}QUERY_STRIDE, T, g, mean, key + WIDTH, saved.weights, dlogits);
        write_dlogits(T, first, saved.chances, dlogits, head->along, head->across, &right, &left);
        weighted_rows(${PREFIX}HEAD_WIDTH, T, dlogits, ${PREFIX}QUERY_STRIDE, key, dq);
        end_${name}_queries(head, first, query, right, left, dq, dquery);
        saved.weights += saved.step;
        saved.chances += saved.step;
        dlogits += ${name}_group_weights(T);
    }
    % local inverse = terms.normalised and "saved.inverse_sum[t]" or "1"
    % include("attention/cpu/attend_rows.tpl", { inverse_of_row = inverse, query_factor = "head->numbers.scale" })
}
