% -- Attention by a softmax over the keys.
% section("constants")
% local format_real = precision == "float64" and f64 or f32
static const real ${PREFIX}LOGIT_SCALE = ${format_real(logit_scale)}; /* 1 / sqrt(${PREFIX}HEAD_WIDTH)${tempered} */
% section("forward")
% include("attention/cpu/attend_weights.tpl")

% paragraph("attention/cpu/attend_one.tpl") % if caches_tiles
% -- C texts. loop_start: the first query of the first group; loop_end: the end of the computed queries
% local loop_start = has_query_bounds and "first_group" or is_decoded and "head->from" or "0"
% local loop_end = has_query_bounds and "head->end_query" or is_decoded and "head->to" or "T"
% local query_rows = is_decoded and "to - from" or "T"
% local first_group_offset = has_query_bounds and " + " .. (is_decoded and "(first_group - head->from)" or "first_group") or ""
/* Attention of one head of one sequence.
 *
 *   query   [${query_rows}] rows of ${PREFIX}HEAD_WIDTH, with stride ${PREFIX}QUERY_STRIDE
 *   key     [${has_cached_keys and "to" or S}] rows of ${PREFIX}HEAD_WIDTH, with stride ${K}, from token 0 on; values lie WIDTH after keys
 *   out     [${query_rows}] rows of ${PREFIX}HEAD_WIDTH, with stride WIDTH, written${computes_labelled_tokens and " for groups with queries whose results are used" or ""}
 *   saved   values of the head for the backward pass, written
 */
NOINLINE void attend_${name}(const ${name}_head *head, const real *restrict query, const real *restrict key,
        real *restrict out, ${name}_saved saved) {
    const int T = head->to; /* no query sees keys from `to` on */ % if has_cached_keys
    const int ${head_lengths}; % else
    const real *value = key + WIDTH;
    const int first_group = ${name}_first_group(head);
    real *restrict weights = saved.weights, *restrict inverses = saved.inverse_sum${first_group_offset};
    for (int first = ${loop_start}; first < ${loop_end}; first += LANES, weights += saved.step, inverses += LANES) {
        vector o[${PREFIX}HEAD_WIDTH];
        % include("attention/cpu/span.tpl", { first = "first" })
        if (end > T) end = T; % if terms.has_spans and has_cached_keys
        vector sum = ${name}_weights(head, first, ${span}, query, key, weights);
% if terms.drops_weights then
        % slot("values")
% else
        weighted_rows(${PREFIX}HEAD_WIDTH, ${keys_seen}, ${from_weights}, ${K}, ${from_values}, o);
        vector inverse = 1 / sum;
        store(inverses, inverse);
        scale_columns(${PREFIX}HEAD_WIDTH, inverse, o);
% end
        store_columns(${PREFIX}HEAD_WIDTH, ${is_decoded and row_count or "T"}, ${row_of_first}, WIDTH, o, out);
    }
}
% section("back_to_queries")
% local has_pair_rows = paired and terms.pair_vectors
% local pair_factor = paired and not has_pair_rows and "(" .. PREFIX .. "PAIRED ? 2 : 1) * " or ""
% local gradient = terms.changes_gradient and "dscore" or "dlogit"
% local logit_of_key = terms.scans_logits and "load(head->logits + j * LANES)" or name .. "_logit(&queries, key, j)"
% local row_factors = { inverse_of_row = "inverse_sum[t]", query_factor = "inverse_sum[t] * " .. PREFIX .. "LOGIT_SCALE" }
/* Writes gradients of queries, and the rows that attend_${name}_keys reads later. */
INLINE void attend_${name}_queries(const ${name}_head *head, const real *restrict query, const real *restrict key,
        const real *restrict out, const real *restrict dout, ${name}_saved saved, const ${name}_scratch *scratch,
        real *restrict dquery) {
    const int ${head_lengths};
    const real *value = key + WIDTH;
    const int first_group = ${name}_first_group(head);
    const real *inverse_sum = saved.inverse_sum;
    real *weights = saved.weights, *dlogits = scratch->dlogits${to_dlogits};
    real *pairs = scratch->pairs; % if has_pair_rows
    % slot("queries_begin")
% -- If terms.by_rotation, the slot queries_back reads the rows, so they are written before the loop; otherwise after it.
    % include("attention/cpu/attend_rows.tpl", row_factors) % if terms.by_rotation
    for (int first = ${first_group}; first < ${to_query}; first += LANES) {
        vector g[${PREFIX}HEAD_WIDTH], o[${PREFIX}HEAD_WIDTH], dq[${PREFIX}HEAD_WIDTH],
                inverse = load(inverse_sum + first);
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, dout, 1, g);
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, out, 1, o);
        vector mean = g[0] * o[0]; /* the sum over keys of weight * dweight, with normalised weights */
        UNROLL
        for (int d = 1; d < ${PREFIX}HEAD_WIDTH; d++) mean += g[d] * o[d];
        % slot("gradients_out")
        clear_columns(${PREFIX}HEAD_WIDTH, dq);
% if terms.needs_logits or terms.scans_logits then
        ${name}_queries queries;
        load_${name}_queries(head, first, query, &queries);
% end
        % slot("group_back")
        % include("attention/cpu/span.tpl", { first = "first" })
        % slot("scan_back", { from = from_key, to = to_key })
        % slot("distance_logits", { from = from_key, to = to_key }) % if terms.needs_logits
        for (int j = ${from_key}; j < ${to_key}; j++) {
            vector logit = ${logit_of_key}; % if terms.needs_logits
            % slot("weight_back", { gradient = gradient }) % if terms.drops_weights
            vector ${gradient} = (dot_row(${PREFIX}HEAD_WIDTH, g, value + j * ${K}) - mean) * load(weights + j * LANES); % else
            % slot("pair_back")
            if (${PREFIX}PAIRED) { % if paired then
                store(${paired.pairs} + 2 * j * LANES,
                        interleave_elements(${inline("live_weight", "load(weights + j * LANES)")}, dlogit, 0));
                store(${paired.pairs} + (2 * j + 1) * LANES,
                        interleave_elements(${inline("live_weight", "load(weights + j * LANES)")}, dlogit, LANES / 2));
            % if not terms.pair_vectors then
            } else {
                store(dlogits + j * LANES, dlogit);
            % end
            }
            store(dlogits + j * LANES, dlogit); % if terms.pair_vectors or not paired
            UNROLL
            for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) dq[d] += dlogit * key[j * ${K} + d];
        }
        % slot("gathered")
        % slot("queries_back")
        scale_columns(${PREFIX}HEAD_WIDTH, inverse * ${PREFIX}LOGIT_SCALE, dq);
        store_columns(${PREFIX}HEAD_WIDTH, T, first, ${PREFIX}QUERY_STRIDE, dq, dquery);
        weights += ${name}_group_weights(${S});
        dlogits += ${pair_factor}${group_dlogits_function}(${S});
        pairs += 2 * ${name}_group_weights(${S}); % if has_pair_rows
    }
    % include("attention/cpu/attend_rows.tpl", row_factors) % if not terms.by_rotation
}
% section("trace_head")
% local logit = terms.scans_logits and "load(columns + j * LANES)" or name .. "_logit(&queries, key, j)"
% local score = score_function and invoke(score_function, "head", "&queries", "j", logit) or logit
% score = inline("plus_gain", score, { added_values = "columns", key = "j" })
/* Traces one head of one sequence; rows of query and key are as in attend_${name}, and `saved` is a workspace.
 *
 *   scores, attention   [queries][keys] written; NULL: not requested
 */
static void trace_${name}_head(const ${name}_head *head, const real *query, const real *key, const ${name}_saved *saved,
        real *scores, real *attention) {
    real *columns = saved->weights; /* [keys][LANES] */
    for (int first = 0; first < head->T; first += LANES) {
        ${name}_queries queries;
        load_${name}_queries(head, first, query, &queries);
        % slot("add_values", { from = "0", to = "head->" .. S, added_values = "columns" })
        % slot("scan", { from = "0", to = "head->" .. S, logits = "columns" })
        % slot("distance_logits", { from = "0", to = "head->" .. S })
        vector largest = broadcast(-(real)__builtin_inf());
        for (int j = 0; j < head->${S}; j++) {
            vector score = ${score};
            largest = maximum(largest, score);
            store(columns + j * LANES, score);
        }
        if (scores) write_rows(head->T, head->${S}, first, columns, broadcast(1), scores);
        vector sum = exp_weights(head->${S}, largest, columns);
        if (attention) write_rows(head->T, head->${S}, first, columns, 1 / sum, attention);
    }
}
