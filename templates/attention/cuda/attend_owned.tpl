% local with_rows = relative.kind ~= "none" and class == (relative.toeplitz and "distance" or "row")
% local biases, has_rows = relative.biases, relative.kind ~= "none"
% local scored = score.kind ~= "none"
% local masked = mask.kind ~= "none"
% local WORDS = { query = "query", key = "key", distance = "query - key", row = "vector of a distance", sum = "query + key", pair = "pair" }
% local T, S, key_stride = "v->" .. attends.T, "v->" .. attends.S, PREFIX .. (cross and "KEY_STRIDE" or "QUERY_STRIDE")
% local sides = cross and T .. " + " .. S or "2 * " .. T
% local COUNTS = { query = T, key = S, distance = sides .. " - 1", row = prefix .. "row_count(v, l)", sum = sides .. " - 1", pair = T .. " * " .. S }
% local first_key = prefix .. (mask.sees_all and "first_key(i, " .. S .. ")" or "first_key(i)")
% local lengths = cross and T .. ", " .. S or T
% local words, count = WORDS[class], COUNTS[class]
% local room = #gathered > 0 and #gathered or 1
/* What a shard's pairs add up for each ${words}: a thread owns an entry and goes through its pairs, sequence
 * after sequence. */
NOINLINE void ${prefix}attend_by_${class}(void) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const ${attends.state} *s = &block()->${attends.block};
    const int sequences = block()->sequences;
    const int l = block()->l;
% if with_rows then
    const table_sums *sums = &block()->sums;
% end
% if gathered[1] then
    ${prefix}score_gradients gradients, *d = &gradients;
    ${prefix}score_gradients_of(d);
% end
    const int count = ${count};
% if class == "row" then
    const ${prefix}pair_rows rows_of_pairs = ${prefix}pair_rows_of(v, l);
% end
% if scored then
    ${prefix}score_tables tables;
    ${prefix}score_tables_of(v, l, &tables);
% end
    for (int task = ${attends.first_task}; task < ${PREFIX}HEADS * count; task += ${attends.tasks}) {
        const int h = task / count;
% if with_rows then
        real drow[${attends.head_part}]${biases and ", row_sum = 0" or ""};
        ${prefix}clear_head(drow);
% end
% if gathered[1] then
        real out[${room}] = {0};
% end
% if class == "query" then
        const int i = task % count;
% elseif class == "key" then
        const int j = task % count;
% elseif class == "distance" then
% if cross then
        const int o = task % count - (${S} - 1), first = o > 0 ? o : 0, end = ${S} + o < ${T} ? ${S} + o : ${T};
% else
        const int o = task % count - (${T} - 1), first = o > 0 ? o : 0, end = o < 0 ? ${T} + o : ${T};
% end
% elseif class == "sum" then
        const int t = task % count, first = t < ${S} ? 0 : t - ${S} + 1, end = t < ${T} ? t + 1 : ${T};
% elseif class == "pair" then
        const int j = task % count / ${T}, i = task % count % ${T};
% end
        for (int sequence = 0; sequence < sequences; sequence++) {
            const ${prefix}head a = ${prefix}head_at(v, ${has_rows and "l, " or ""}s, ${scored and "&tables, " or ""}sequence, h);
            const size_t rows = (size_t)sequence * ${T};
% if class == "query" then
            for (int j = 0; j < ${S}; j++) {
% elseif class == "key" then
            for (int i = 0; i < ${T}; i++) {
% elseif class == "distance" then
            for (int i = first; i < end; i++) {
                const int j = i - o;
% elseif class == "sum" then
            for (int i = first; i < end; i++) {
                const int j = t - i;
% elseif class == "row" then
            for (int e = rows_of_pairs.start[task % count]; e < rows_of_pairs.start[task % count + 1]; e++) {
                const int i = rows_of_pairs.pair[e] / ${S}, j = rows_of_pairs.pair[e] % ${S};
% else
            {
% end
% if mask.kind == "lines" then
                if (${prefix}next_key(h, i, j - 1, ${S}) != j) continue;
% elseif masked then
                if (j < ${first_key} || j >= ${prefix}end_key(i, ${S})) continue;
% end
                const size_t of_query = ((size_t)sequence * ${PREFIX}HEADS + h) * ${T} + i;
                const real largest = s->${prefix}largest[of_query], inverse = s->${prefix}inverse_sum[of_query];
                const real delta = w->${prefix}delta[of_query];
                real query[${attends.head_part}], key[${attends.head_part}], value[${attends.head_part}], dout[${attends.head_part}];
                ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE);
                ${prefix}load_head(key, a.key + j * ${key_stride});
                ${prefix}load_head(value, a.value + j * ${key_stride});
                ${prefix}load_head(dout, w->${attends.dout} + (rows + i) * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel});
                % include("attention/cuda/pair_gradient.tpl", with_rows and pair or scores)
% if with_rows then
                ${prefix}add_head(drow, dlogit, query);
% if biases then
                row_sum += dlogit;
% end
% end
% if gathered[1] then
                ${prefix}score_grad_${class}(${pair.of_head}, i, j, logit, ${dscore}, out);
% end
            }
        }
% if with_rows and biases then
        const size_t room = ${prefix}distance_count(${lengths});
        ${prefix}store_head(drow, 1, sums->${prefix}rows + ((size_t)l * room + task % count) * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel});
        ${attends.once}sums->${prefix}row_sums[l * ${PREFIX}HEADS * room + task] = row_sum;
% elseif with_rows then
        ${prefix}store_head(drow, 1, sums->${prefix}rows + ((size_t)l * ${PREFIX}HEADS * ${prefix}distance_count(${lengths}) + task) * ${PREFIX}HEAD_WIDTH${attends.channel});
% end
% if gathered[1] and attends.head_lanes > 1 then
        if (!${prefix}leads_head()) continue;
% end
% for k, g in ipairs(gathered) do
% local at = k - 1
% if score.per_layer then
        ${g.target} = out[${at}];
% else
        ${g.target} = l == ${stack.count} - 1 ? out[${at}] : ${g.target} + out[${at}];
% end
% end
    }
}
