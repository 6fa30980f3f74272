% local beside = paired and terms.beside
% local twice = paired and not beside and "(" .. PREFIX .. "PAIRED ? 2 : 1) * " or ""
% local gradient = terms.changes and "dscore" or "dlogit"
% local of_rows = { inverse_of_row = "inverse_sum[t]", query_factor = "inverse_sum[t] * " .. PREFIX .. "LOGIT_SCALE" }
/* Writes gradients of queries, and the rows that the pass over keys reads. */
INLINE void attend_${name}_queries(const ${name}_head *head, const real *restrict query, const real *restrict key,
        const real *restrict out, const real *restrict dout, ${name}_kept kept, const ${name}_scratch *scratch,
        real *restrict dquery) {
    const int ${of_head};
    const real *value = key + WIDTH;
    const int first_group = ${name}_first_group(head);
    const real *inverse_sum = kept.inverse_sum;
    real *weights = kept.weights, *dlogits = scratch->dlogits${zeros};
    real *pairs = scratch->pairs; % if beside
    % slot("queries_begin")
    % include("attention/cpu/attend_rows.tpl", of_rows) % if terms.far
    for (int first = ${first_group}; first < ${to_query}; first += LANES) {
        vector g[${PREFIX}HEAD_WIDTH], o[${PREFIX}HEAD_WIDTH], dq[${PREFIX}HEAD_WIDTH],
                inverse = load(inverse_sum + first);
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, dout, 1, g);
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, out, 1, o);
        vector mean = g[0] * o[0];
        UNROLL
        for (int d = 1; d < ${PREFIX}HEAD_WIDTH; d++) mean += g[d] * o[d];
        % slot("gradients_out")
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) dq[d] = (vector){0};
% if terms.again then
        ${name}_queries queries;
        load_${name}_queries(head, first, query, &queries);
% end
        % slot("group_back")
        % include("attention/cpu/span.tpl", { first = "first" })
        % slot("far", { from = from_key, to = to_key }) % if terms.again
        for (int j = ${from_key}; j < ${to_key}; j++) {
            vector logit = ${name}_logit(&queries, key, j); % if terms.again
% if terms.drops then
            % slot("weight_back", { gradient = gradient })
% else
            vector ${gradient} = (dot_row(${PREFIX}HEAD_WIDTH, g, value + j * ${K}) - mean) * load(weights + j * LANES);
% end
            % slot("pair_back")
            % include("attention/cpu/store_gradient.tpl")
            UNROLL
            for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) dq[d] += dlogit * key[j * ${K} + d];
        }
        % slot("gathered")
        % slot("queries_back")
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) dq[d] *= inverse * ${PREFIX}LOGIT_SCALE;
        store_columns(${PREFIX}HEAD_WIDTH, T, first, ${PREFIX}QUERY_STRIDE, dq, dquery);
        weights += ${name}_group_weights(${S});
        dlogits += ${twice}${name}_group_${of_dlogits}(${S});
        pairs += 2 * ${name}_group_weights(${S}); % if beside
    }
    % include("attention/cpu/attend_rows.tpl", of_rows) % if not terms.far
}
