% local spans = mask.kind ~= "none"
% local S, H = cross and "S" or "T", PREFIX .. "HEAD_WIDTH"
% local stop, before = bounded and "head->end_query" or "T", bounded and " + before" or ""
% local sizes = spans and "" or cross and ", S = head->S" or ""
% local keys, dlogits_from, codes_from = S, "dlogits", "head->codes"
% if spans then
% keys, dlogits_from, codes_from = "end - begin", "dlogits + begin * LANES", "head->codes + begin * WIDTH"
% end

/* Adds to dq, without its factors still, what a group's queries get through their distances; the biases get the sums over
 * queries, and the weight its gradient. */
% define("INLINE void " .. name .. "_turned_queries", "const " .. name .. "_head *head", "int first", spans and "int begin, int end", "const real *restrict dlogits", "const " .. name .. "_scratch *scratch", "vector inverse", "vector *dq")
    const int T = head->T${sizes}, queries = ${stop} - first < LANES ? ${stop} - first : LANES;
% if bounded then
    const int before = first < head->first_query ? head->first_query - first : 0;
% end
    const real *rows = scratch->rows + (first${before}) * ${relative.vectors} * ${H} + 2 * ${H};
    real *dturned = head->turned, back[LANES * ${H} + LANES] = {0};
    vector dposition[${H}], factor = keep_where(lanes_before(T - first), inverse * ${PREFIX}LOGIT_SCALE);
    % call("turned_grad", "WIDTH", "queries", keys, dlogits_from, codes_from, "dturned")
    for (int i = 0; i < queries; i++)
        turn_back(WIDTH, head->table[head->position[first + i]].sinusoid, dturned + i * WIDTH);
    through_weight(${H}, WIDTH, queries, dturned, head->weight, back);
    load_columns(${H}, LANES, 0, ${H}, back, 1, dposition);
    UNROLL
    for (int d = 0; d < ${H}; d++) {
        add_at(head->dbiases + d * LANES, dq[d] * factor);
        add_at(head->dbiases + (${H} + d) * LANES, dposition[d] * factor);
        dq[d] += dposition[d];
    }
    % call("outer_sums", bounded and "queries - before" or "queries", ("widest_divisor(%s, OUTER_ROWS)"):format(H), H, ("%d * %s"):format(relative.vectors, H), "WIDTH", "rows", bounded and "dturned + before * WIDTH" or "dturned", "head->dweight", "OUTER_ADD")
}
