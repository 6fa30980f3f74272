% local with_rows, biases = relative.kind ~= "none" and relative.toeplitz, relative.biases
% local first_key = prefix .. (mask.sees_all and (cross and "first_key(i, S)" or "first_key(i, T)") or "first_key(i)")
% local scored, masked = score.kind ~= "none", mask.kind ~= "none"
% local unroll = head_width <= 8 and 8 or 4
% local spread = with_rows and attends.head_lanes > 1
% local first_task, tasks = spread and attends.first_task or "threadIdx.x", spread and attends.tasks or "THREADS"
% local leads = prefix .. "leads_head()"
% local resumes = spread and "first > 0 && " .. leads or "first > 0"
% local goes_on = ("first > 0 || l < %s - 1"):format(stack.count)
% goes_on = spread and leads .. " && (" .. goes_on .. ")" or goes_on
% local T, S, pairs_of = "v->" .. attends.T, "v->" .. attends.S, cross and "T * S" or "T * T"
% local count = cross and "T + S - 1" or "2 * T - 1"
% local keys = cross and "S" or "T"
% local lengths = "T = " .. T .. (cross and ", S = " .. S or "")
% local source = attends.pair_scores and "pair_scores" or "pairs"
/* What a shard's pairs add up for each query - key, from the gradients that attend_keys has left: a thread owns an entry
 * and goes through its pairs, sequence after sequence. Neighbours walk over the same queries, side by side. */
NOINLINE void ${prefix}attend_by_distance(int first, int sequences) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const int l = block()->l, ${lengths}, count = ${count};
% if with_rows then
    const real *queries = block()->${attends.block}.${attends.q} + (size_t)first * T * ${PREFIX}QUERY_STRIDE;
    const table_sums *sums = &block()->sums;
% end
% if gathered[1] then
    ${prefix}score_gradients gradients, *d = &gradients;
    ${prefix}score_gradients_of(d);
    ${prefix}score_tables tables;
    ${prefix}score_tables_of(v, l, &tables);
% end
    for (int task = ${first_task}; task < ${PREFIX}HEADS * count; task += ${tasks}) {
        const int h = task / count, o = task % count - (${keys} - 1);
% if with_rows and biases then
        real *to = sums->${prefix}rows + ((size_t)l * count + task % count) * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        real drow[${attends.head_part}], row_sum = ${resumes} ? sums->${prefix}row_sums[l * ${PREFIX}HEADS * count + task] : 0;
% elseif with_rows then
        real *to = sums->${prefix}rows + ((size_t)l * ${PREFIX}HEADS * count + task) * ${PREFIX}HEAD_WIDTH${attends.channel};
        real drow[${attends.head_part}];
% end
% if with_rows then
        if (first > 0) ${prefix}load_head(drow, to);
        else ${prefix}clear_head(drow);
% end
% if gathered[1] then
        real out[${gathered.count}];
% for k, g in ipairs(gathered) do
% local at = k - 1
% if score.per_layer then
        out[${at}] = ${resumes} ? ${g.target} : 0;
% else
        out[${at}] = ${goes_on} ? ${g.target} : 0;
% end
% end
% end
        for (int sequence = 0; sequence < sequences; sequence++) {
            const size_t pairs = ((size_t)sequence * ${PREFIX}HEADS + h) * ${pairs_of} - o;
% if with_rows then
            const real *query_rows = queries + (size_t)sequence * T * ${PREFIX}QUERY_STRIDE + h * ${PREFIX}HEAD_WIDTH${attends.channel};
% end
#pragma unroll ${unroll}
            for (int i = 0; i < T; i++) {
                const int j = i - o;
% if mask.kind == "lines" then
                const bool there = (unsigned int)j < (unsigned int)${keys} && ${prefix}next_key(h, i, j - 1, ${keys}) == j;
% elseif masked then
                const bool there = j >= ${first_key} && j < ${prefix}end_key(i, ${keys});
% else
                const bool there = (unsigned int)j < (unsigned int)${keys};
% end
% if with_rows then
                const real dlogit = there ? w->${prefix}pairs[pairs + (size_t)i * (${keys} + 1)] : 0;
                real query[${attends.head_part}];
                ${prefix}load_head(query, query_rows + i * ${PREFIX}QUERY_STRIDE);
                ${prefix}add_head(drow, dlogit, query);
% if biases then
                row_sum += dlogit;
% end
% end
% if gathered[1] then
                if (there) ${prefix}score_grad_distance(&tables, ${cross and "T, S" or "T"}, h, i, j, 0, w->${prefix}${source}[pairs + (size_t)i * (${keys} + 1)], out);
% end
            }
        }
% if with_rows then
        ${prefix}store_head(drow, 1, to);
% end
% if spread and (biases or gathered[1]) then
        if (!${prefix}leads_head()) continue;
% end
% if with_rows and biases then
        sums->${prefix}row_sums[l * ${PREFIX}HEADS * count + task] = row_sum;
% end
% for k, g in ipairs(gathered) do
% local at = k - 1
        ${g.target} = out[${at}];
% end
    }
}
