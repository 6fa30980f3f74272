% local with_rows, biases = relative.kind ~= "none" and relative.toeplitz, relative.biases
% local scored, masked = score.kind ~= "none", mask.kind ~= "none"
% local unroll = head_width <= 8 and 8 or 4
% local spread = with_rows and cuda.head_lanes > 1
% local first_task, tasks = spread and cuda.first_task or "threadIdx.x", spread and cuda.tasks or "THREADS"
% local resumes = spread and "first > 0 && leads_head()" or "first > 0"
% local goes_on = (spread and "leads_head() && (first > 0 || l < %s - 1)" or "first > 0 || l < %s - 1"):format(stack.count)
% local source = cuda.pair_scores and "pair_scores" or "pairs"
/* What a shard's pairs add up for each query - key, from the gradients that attend_keys has left: a thread owns an entry
 * and goes through its pairs, sequence after sequence. Neighbours walk over the same queries, side by side. */
NOINLINE void attend_by_distance(int first, int sequences) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const int l = block()->l, T = v->T, count = 2 * T - 1;
% if with_rows then
    const real *queries = block()->${device.attends.block}.${device.attends.q} + (size_t)first * T * QUERY_STRIDE;
    const table_sums *sums = &block()->sums;
% end
% if gathered[1] then
    score_gradients gradients, *d = &gradients;
    score_gradients_of(d);
    score_tables tables;
    score_tables_of(v, l, &tables);
% end
    for (int task = ${first_task}; task < HEADS * count; task += ${tasks}) {
        const int h = task / count, o = task % count - (T - 1);
% if with_rows and biases then
        real *to = sums->rows + ((size_t)l * count + task % count) * WIDTH + h * HEAD_WIDTH${cuda.channel};
        real drow[${cuda.head_part}], row_sum = ${resumes} ? sums->row_sums[l * HEADS * count + task] : 0;
% elseif with_rows then
        real *to = sums->rows + ((size_t)l * HEADS * count + task) * HEAD_WIDTH${cuda.channel};
        real drow[${cuda.head_part}];
% end
% if with_rows then
        if (first > 0) load_head(drow, to);
        else clear_head(drow);
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
            const size_t pairs = ((size_t)sequence * HEADS + h) * T * T - o;
% if with_rows then
            const real *query_rows = queries + (size_t)sequence * T * QUERY_STRIDE + h * HEAD_WIDTH${cuda.channel};
% end
#pragma unroll ${unroll}
            for (int i = 0; i < T; i++) {
                const int j = i - o;
% if masked then
                const bool there = j >= first_key(i) && j < end_key(i, T);
% else
                const bool there = (unsigned int)j < (unsigned int)T;
% end
% if with_rows then
                const real dlogit = there ? w->pairs[pairs + (size_t)i * (T + 1)] : 0;
                real query[${cuda.head_part}];
                load_head(query, query_rows + i * QUERY_STRIDE);
                add_head(drow, dlogit, query);
% if biases then
                row_sum += dlogit;
% end
% end
% if gathered[1] then
                if (there) score_grad_distance(&tables, T, h, i, j, 0, w->${source}[pairs + (size_t)i * (T + 1)], out);
% end
            }
        }
% if with_rows then
        store_head(drow, 1, to);
% end
% if spread and (biases or gathered[1]) then
        if (!leads_head()) continue;
% end
% if with_rows and biases then
        sums->row_sums[l * HEADS * count + task] = row_sum;
% end
% for k, g in ipairs(gathered) do
% local at = k - 1
        ${g.target} = out[${at}];
% end
    }
}
