% local cached = ranged and not cross
% local attend_key = (cross or ranged) and "const real *restrict key, " or ""
% local stop, row = ranged and "head->to - head->from" or "T", ranged and "first - head->from" or "first"
% local always = remade and remade.always
% local first_from, first_to = ranged and "head->from" or "0", ranged and "head->to" or "T"
% if bounded then
% first_from, first_to = "first_group", "head->end_query"
% end
% local asked = ranged and "to - from" or "T"
% local needs_keys = not terms.spans or terms.drops
% include("parts/banner.tpl", { template = "attention/cpu/attention.inc.tpl", about = about.attention[name] })

/* What the layers call, with the workspace whole:
 *
% if cross then
 *   attention_${name}            from rows of queries, and of keys and values, to attended; keeps what the way back needs
 *   attention_${name}_backward   from the gradient of attended to those of query and key_value
% else
 *   attention_${name}            from rows of queries, keys and values to attended; keeps what the way back needs
 *   attention_${name}_backward   from the gradient of attended to that of query_key_value
% end
 *
 * Of the workspace they use step, sequences, ${queries.at}length, sums and the room in its member ${name};
 * ${name}_kept is the layer's; l counts the layers of the stack.
 *
 * One head of one sequence at a time; LANES queries side by side, keys one after another, so that the softmax needs no
 * sum across lanes and any head width fills the registers. T is a loop bound, nothing is padded but the last group of
 * queries. */

% include("attention/cpu/head.tpl")

% include("attention/cpu/logit.tpl")
% if terms.spans then

% include("attention/cpu/domain.tpl")
% end
% if terms.scaled and terms.hides then

/* What the softmax sees of a group with key j, where no query is without it. */
% define("INLINE vector " .. name .. "_open_score", "const " .. name .. "_head *head", "const " .. name .. "_queries *group", "int j", "vector logit")
    return ${inline("score", "logit")};
}
% end
% if terms.scaled or terms.hides then

/* What the softmax sees of a group with key j. */
% define("INLINE vector " .. name .. "_score", "const " .. name .. "_head *head", "const " .. name .. "_queries *group", "int j", "vector logit")
% if terms.hides then
% local visible = invoke(name .. "_visible", "head->T", "head->" .. S, "group->first", "j")
    vector score = ${inline("open_score", "logit")};
    return choose(${visible}, score, broadcast(-(real)__builtin_inf()));
% else
    return ${inline("score", "logit")};
% end
}
% end
% slot("rotate")

% include("attention/cpu/attend_weights.tpl")

% if tiles then
% include("attention/cpu/attend_one.tpl")

% end
/* One head of one sequence.
 *
% if cross then
 *   query   [${asked}] rows of ${PREFIX}HEAD_WIDTH, ${PREFIX}QUERY_STRIDE apart
 *   key     [S] rows of ${PREFIX}HEAD_WIDTH, ${PREFIX}KEY_STRIDE apart; values WIDTH further on
% elseif ranged then
 *   query   [to - from] rows of ${PREFIX}HEAD_WIDTH, ${PREFIX}QUERY_STRIDE apart
 *   key     [to] rows, likewise, from token 0 on; values WIDTH further on
% else
 *   query   [T] rows of ${PREFIX}HEAD_WIDTH, ${PREFIX}QUERY_STRIDE apart; keys and values WIDTH and 2 WIDTH further on
% end
% if partial then
 *   out     [${asked}] rows of ${PREFIX}HEAD_WIDTH, WIDTH apart, written for the groups of the queries that are read
% else
 *   out     [${asked}] rows of ${PREFIX}HEAD_WIDTH, WIDTH apart, written
% end
 *   kept    of the head, written
 */
NOINLINE void attend_${name}(const ${name}_head *head, const real *restrict query,
        ${attend_key}real *restrict out, ${name}_kept kept) {
% if cached then
    const int T = head->to; /* the last query sees no key behind it */
    const real *value = key + WIDTH;
% else
    % include("attention/cpu/head_lengths.tpl", { of_T = not ranged, of_S = cross and needs_keys })
% end
% if bounded then
    const int first_group = ${name}_first_group(head);
    real *restrict weights = kept.weights;
    real *restrict inverse_sum = kept.inverse_sum + ${ranged and "(first_group - head->from)" or "first_group"};
% else
    real *restrict weights = kept.weights, *restrict inverse_sum = kept.inverse_sum;
% end
    for (int first = ${first_from}; first < ${first_to}; first += LANES, weights += kept.step, inverse_sum += LANES) {
        vector o[${PREFIX}HEAD_WIDTH];
% if terms.spans then
        int begin, end;
        ${name}_span(head, first, &begin, &end);
% end
% if terms.spans and cached then
        if (end > T) end = T;
% end
        vector sum = ${name}_weights(head, first, ${span}, query, key, weights);
% if terms.drops then
        % slot("values")
% else
        % include("attention/cpu/weighted_rows.tpl")
        vector inverse = 1 / sum;
        store(inverse_sum, inverse);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) o[d] *= inverse;
% end
        store_columns(${PREFIX}HEAD_WIDTH, ${stop}, ${row}, WIDTH, o, out);
    }
}
% slot("queries_grad")

% include("attention/cpu/attend_queries.tpl")

% if paired then
% include("attention/cpu/attend_pairs.tpl")

% end
% include("attention/cpu/attend_keys.tpl")

% if remade then
% include("attention/cpu/attend_backward_remade.tpl")

% end
% if not always then
% include("attention/cpu/attend_backward.tpl")

% end
/* From what is kept of a head to that of the next. */
INLINE void skip_${name}_head(${name}_kept *kept, int T) {
    int groups = round_up(T, LANES) / LANES;
% if remade then
    if (kept->step) kept->weights += (size_t)groups * kept->step;
    kept->inverse_sum += kept->sums;
% else
    kept->weights += (size_t)groups * kept->step;
    if (kept->step) kept->inverse_sum += groups * LANES;
% end
}

% include("attention/cpu/attention_heads.tpl")
