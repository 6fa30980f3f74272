% local first_from = bounded and "first_group" or ranged and "head->from" or "0"
% local first_to = bounded and "head->end_query" or ranged and "head->to" or "T"
% local asked = ranged and "to - from" or "T"
% local of_first_group = bounded and " + " .. (ranged and "(first_group - head->from)" or "first_group") or ""
/* Attention of one head of one sequence.
 *
 *   query   [${asked}] rows of ${PREFIX}HEAD_WIDTH, ${PREFIX}QUERY_STRIDE apart
 *   key     [${cached and "to" or S}] rows of ${PREFIX}HEAD_WIDTH, ${K} apart, from token 0 on; values lie WIDTH after their keys
 *   out     [${asked}] rows of ${PREFIX}HEAD_WIDTH, WIDTH apart, written${partial and " for groups with queries whose results are used" or ""}
 *   kept    values of the head for the backward pass, written
 */
NOINLINE void attend_${name}(const ${name}_head *head, const real *restrict query, const real *restrict key,
        real *restrict out, ${name}_kept kept) {
    const int T = head->to; /* no query sees keys from `to` on */ % if cached
    const int ${of_head}; % else
    const real *value = key + WIDTH;
    const int first_group = ${name}_first_group(head);
    real *restrict weights = kept.weights, *restrict inverse_sum = kept.inverse_sum${of_first_group};
    for (int first = ${first_from}; first < ${first_to}; first += LANES, weights += kept.step, inverse_sum += LANES) {
        vector o[${PREFIX}HEAD_WIDTH];
        % include("attention/cpu/span.tpl", { first = "first" })
        if (end > T) end = T; % if terms.spans and cached
        vector sum = ${name}_weights(head, first, ${span}, query, key, weights);
% if terms.drops then
        % slot("values")
% else
        weighted_rows(${PREFIX}HEAD_WIDTH, ${keys_seen}, ${from_weights}, ${K}, ${from_values}, o);
        vector inverse = 1 / sum;
        store(inverse_sum, inverse);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) o[d] *= inverse;
% end
        store_columns(${PREFIX}HEAD_WIDTH, ${ranged and row_count or "T"}, ${row_of_first}, WIDTH, o, out);
    }
}
