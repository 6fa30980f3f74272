% -- Stick-breaking attention.
% section("constants")
% local format_real = precision == "float64" and f64 or f32
static const real ${PREFIX}LOGIT_SCALE = ${format_real(logit_scale)}; /* 1 / sqrt(${PREFIX}HEAD_WIDTH) */
% section("forward")
% -- loop_start: C text of the first query of the first group
% -- loop_end: C text of the query after the last computed query
% local loop_start, loop_end = is_decoded and "head->from" or "0", is_decoded and "head->to" or "T"
% local first_group_offset = ""
% if has_query_bounds then
% loop_start, loop_end = "first_group", "head->end_query"
% first_group_offset = is_decoded and " + (first_group - head->from)" or " + first_group"
% end
% local query_rows = is_decoded and "to - from" or "T"
% local first_key = own_key and "its own key" or "the key before it"
/* Every query has a stick of length 1. From ${first_key} to key 0, each key breaks off the share sigmoid(logit) of what
 * is left of the stick; the length of the piece is the key's weight. What is left after key 0 is the rest. */

/* A mask of the queries of a group that attend to key j. */
INLINE bits ${name}_breaks(const ${name}_head *head, const ${name}_queries *group, int j) {
    j++; /* a key takes part in the sticks of the queries that see the key after it */ % if not own_key
    return ${inline("visible", false)};
}

/* Writes the weights [keys][LANES] of LANES queries, from `first` on, for the keys that they see; returns the rests of
 * the sticks. */
INLINE vector ${name}_weights(const ${name}_head *head, int first, ${span_parameters}, const real *restrict query,
        const real *restrict key, real *restrict weights) {
    ${name}_queries group;
    load_${name}_queries(head, first, query, &group);
    vector stick = broadcast(1), logit[SIDE_BY_SIDE];
    const bits all = ~(bits){0};
    int j = ${to_key} - 1;
    for (; j ${own_key and ">" or ">="} first; j--) {
        logit[0] = ${name}_logit(&group, key, j);
        stick = break_stick(1, logit, ${name}_breaks(head, &group, j), stick, weights + j * LANES);
    }
    for (; j + 1 >= SIDE_BY_SIDE; j -= SIDE_BY_SIDE) {
        ${name}_logits(SIDE_BY_SIDE, &group, key, j + 1 - SIDE_BY_SIDE, logit);
        stick = break_stick(SIDE_BY_SIDE, logit, all, stick, weights + (j + 1 - SIDE_BY_SIDE) * LANES);
    }
    for (; j >= 0; j--) {
        logit[0] = ${name}_logit(&group, key, j);
        stick = break_stick(1, logit, all, stick, weights + j * LANES);
    }
    return remaining_stick(stick);
}

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
    real *restrict weights = saved.weights;
    real *restrict rests = saved.rests${first_group_offset}; % if own_value
    for (int first = ${loop_start}; first < ${loop_end}; first += LANES, weights += saved.step) {
        vector o[${PREFIX}HEAD_WIDTH];
        % include("attention/cpu/span.tpl", { first = "first" })
        if (end > T) end = T; % if has_cached_keys
        ${own_value and "vector rest = " or ""}${name}_weights(head, first, ${span}, query, key, weights);
        weighted_rows(${PREFIX}HEAD_WIDTH, ${keys_seen}, ${from_weights}, ${K}, ${from_values}, o);
% if own_value then
        vector own[${PREFIX}HEAD_WIDTH];
        load_columns(${PREFIX}HEAD_WIDTH, T, first, ${K}, value, 1, own);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) o[d] += rest * own[d];
        store(rests, rest);
        rests += LANES;
% end
        store_columns(${PREFIX}HEAD_WIDTH, ${is_decoded and row_count or "T"}, ${row_of_first}, WIDTH, o, out);
    }
}
% section("back_to_queries")
/* Writes gradients of queries, and the rows that attend_${name}_keys reads later. */
INLINE void attend_${name}_queries(const ${name}_head *head, const real *restrict query, const real *restrict key,
        const real *restrict out, const real *restrict dout, ${name}_saved saved, const ${name}_scratch *scratch,
        real *restrict dquery) {
    const int ${head_lengths};
    const real *value = key + WIDTH;
    const int first_group = ${name}_first_group(head);
    real *weights = saved.weights, *dlogits = scratch->dlogits;
    for (int first = ${first_group}; first < ${to_query}; first += LANES) {
        /* gain: a key's weight times the gradient of this weight
         * farther: the sum of the gains of the keys before key j, plus the gain of the stick's rest */
        vector g[${PREFIX}HEAD_WIDTH], dq[${PREFIX}HEAD_WIDTH], farther = {0};
        ${name}_queries group;
        load_${name}_queries(head, first, query, &group);
        load_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, dout, 1, g);
% if own_value then
        vector own[${PREFIX}HEAD_WIDTH];
        load_columns(${PREFIX}HEAD_WIDTH, T, first, ${K}, value, 1, own);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) farther += g[d] * own[d];
        farther *= load(saved.rests + first);
% end
        clear_columns(${PREFIX}HEAD_WIDTH, dq);
        % include("attention/cpu/span.tpl", { first = "first" })
        for (int j = ${from_key}; j < ${to_key}; j++) {
            const bits breaks = j < first ? ~(bits){0} : ${name}_breaks(head, &group, j);
            vector gain = dot_row(${PREFIX}HEAD_WIDTH, g, value + j * ${K}) * load(weights + j * LANES);
            vector dlogit = stick_grad(${name}_logit(&group, key, j), breaks, gain, farther);
            farther += gain;
            store(dlogits + j * LANES, dlogit);
            UNROLL
            for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) dq[d] += dlogit * key[j * ${K} + d];
        }
        scale_columns(${PREFIX}HEAD_WIDTH, broadcast(${PREFIX}LOGIT_SCALE), dq);
        store_columns(${PREFIX}HEAD_WIDTH, T, first, ${PREFIX}QUERY_STRIDE, dq, dquery);
        weights += ${name}_group_weights(${S});
        dlogits += ${name}_group_weights(${S});
    }
    % include("attention/cpu/attend_rows.tpl", { inverse_of_row = "1", query_factor = PREFIX .. "LOGIT_SCALE" })
}
% section("trace_head")
/* Traces one head of one sequence; rows of query and key are as in attend_${name}.
 *
 *   scores, attention   [queries][keys] written; NULL: not requested. A score is -infinity where the stick does not
 *                       reach the key
 */
static void trace_${name}_head(const ${name}_head *head, const real *query, const real *key, const ${name}_saved *saved,
        real *scores, real *attention) {
    const int T = head->T;
    real *columns = saved->weights; /* [keys][LANES] */
    for (int first = 0; first < T; first += LANES) {
        ${name}_queries group;
        load_${name}_queries(head, first, query, &group);
        for (int j = 0; j < T && scores; j++)
            store(columns + j * LANES, choose(${name}_breaks(head, &group, j), ${name}_logit(&group, key, j), broadcast(-(real)__builtin_inf())));
        if (scores) write_rows(T, T, first, columns, broadcast(1), scores);
        if (!attention) continue;
        ${name}_weights(head, first, ${terms.has_spans and "0, T" or "T"}, query, key, columns);
        write_rows(T, T, first, columns, broadcast(1), attention);
    }
}
