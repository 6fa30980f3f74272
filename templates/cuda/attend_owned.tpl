% local with_rows = relative.kind ~= "none" and class == (relative.toeplitz and "distance" or "row")
% local biases, has_rows = relative.biases, relative.kind ~= "none"
% local scored = score.kind ~= "none"
% local masked = mask.kind ~= "none"
% local WORDS = { query = "query", key = "key", distance = "query - key", row = "vector of a distance", sum = "query + key", pair = "pair" }
% local COUNTS = { query = "v->T", key = "v->T", distance = "2 * v->T - 1", row = "row_count(v, l)", sum = "2 * v->T - 1", pair = "v->T * v->T" }
% local words, count = WORDS[class], COUNTS[class]
% local room = #gathered > 0 and #gathered or 1
/* What a shard's pairs add up for each ${words}: a thread owns an entry and goes through its pairs, sequence
 * after sequence. */
NOINLINE void attend_by_${class}(void) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const ${device.attends.state} *s = &block()->${device.attends.block};
    const int sequences = block()->sequences;
    const int l = block()->l;
% if with_rows then
    const table_sums *sums = &block()->sums;
% end
% if gathered[1] then
    score_gradients gradients, *d = &gradients;
    score_gradients_of(d);
% end
    const int count = ${count};
% if class == "row" then
    const pair_rows rows_of_pairs = pair_rows_of(v, l);
% end
% if scored then
    score_tables tables;
    score_tables_of(v, l, &tables);
% end
    for (int task = ${cuda.first_task}; task < HEADS * count; task += ${cuda.tasks}) {
        const int h = task / count;
% if with_rows then
        real drow[${cuda.head_part}]${biases and ", row_sum = 0" or ""};
        clear_head(drow);
% end
% if gathered[1] then
        real out[${room}] = {0};
% end
% if class == "query" then
        const int i = task % count;
% elseif class == "key" then
        const int j = task % count;
% elseif class == "distance" then
        const int o = task % count - (v->T - 1), first = o > 0 ? o : 0, end = o < 0 ? v->T + o : v->T;
% elseif class == "sum" then
        const int t = task % count, first = t < v->T ? 0 : t - v->T + 1, end = t < v->T ? t + 1 : v->T;
% elseif class == "pair" then
        const int j = task % count / v->T, i = task % count % v->T;
% end
        for (int sequence = 0; sequence < sequences; sequence++) {
            const head a = head_at(v, ${has_rows and "l, " or ""}s, ${scored and "&tables, " or ""}sequence, h);
            const size_t rows = (size_t)sequence * v->T;
% if class == "query" then
            for (int j = 0; j < v->T; j++) {
% elseif class == "key" then
            for (int i = 0; i < v->T; i++) {
% elseif class == "distance" then
            for (int i = first; i < end; i++) {
                const int j = i - o;
% elseif class == "sum" then
            for (int i = first; i < end; i++) {
                const int j = t - i;
% elseif class == "row" then
            for (int e = rows_of_pairs.start[task % count]; e < rows_of_pairs.start[task % count + 1]; e++) {
                const int i = rows_of_pairs.pair[e] / v->T, j = rows_of_pairs.pair[e] % v->T;
% else
            {
% end
% if masked then
                if (j < first_key(i) || j >= end_key(i, v->T)) continue;
% end
                const size_t of_query = ((size_t)sequence * HEADS + h) * v->T + i;
                const real largest = s->largest[of_query], inverse = s->inverse_sum[of_query];
                const real delta = w->delta[of_query];
                real query[${cuda.head_part}], key[${cuda.head_part}], value[${cuda.head_part}], dout[${cuda.head_part}];
                load_head(query, a.query + i * QUERY_STRIDE);
                load_head(key, a.key + j * QUERY_STRIDE);
                load_head(value, a.value + j * QUERY_STRIDE);
                load_head(dout, w->${device.attends.dout} + (rows + i) * WIDTH + h * HEAD_WIDTH${cuda.channel});
                % include("cuda/pair_gradient.tpl", with_rows and pair or scores)
% if with_rows then
                add_head(drow, dlogit, query);
% if biases then
                row_sum += dlogit;
% end
% end
% if gathered[1] then
                score_grad_${class}(a.score, a.T, a.h, i, j, logit, ${dscore}, out);
% end
            }
        }
% if with_rows and biases then
        const size_t room = distance_count(v->T);
        store_head(drow, 1, sums->rows + ((size_t)l * room + task % count) * WIDTH + h * HEAD_WIDTH${cuda.channel});
        ${cuda.once}sums->row_sums[l * HEADS * room + task] = row_sum;
% elseif with_rows then
        store_head(drow, 1, sums->rows + ((size_t)l * HEADS * distance_count(v->T) + task) * HEAD_WIDTH${cuda.channel});
% end
% if gathered[1] and cuda.head_lanes > 1 then
        if (!leads_head()) continue;
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
