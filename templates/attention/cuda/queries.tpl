/* Computes the gradients of queries, and stores delta, each query's weighted mean of the gradients of weights. */
NOINLINE void ${prefix}attend_queries(void) {
    % include("attention/cuda/opening.tpl")
    % slot("tables")
    for (int task = ${attends.first_task}; task < sequences * ${PREFIX}HEADS * v->${attends.T}; task += ${attends.task_step}) {
        const int i = task % v->${attends.T}, h = task / v->${attends.T} % ${PREFIX}HEADS,
                sequence = task / v->${attends.T} / ${PREFIX}HEADS;
        const ${prefix}head a = ${prefix}make_head(v, l, s, &tables, sequence, h);
        const size_t row = (size_t)sequence * v->${attends.T} + i,
                offset_of_row = row * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        const real largest = s->${prefix}largest[task], inverse = s->${prefix}inverse_sum[task];
        real query[${attends.head_part}], dout[${attends.head_part}], out[${attends.head_part}], dquery[${attends.head_part}] = {};
        ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE);
        ${prefix}load_head(dout, w->${attends.dout} + offset_of_row);
        ${prefix}load_head(out, s->${attends.out} + offset_of_row);
        const real delta = ${prefix}dot_head(dout, out);
        ${attends.if_first_lane}w->${prefix}delta[task] = delta;
        % slot("start_query")
#pragma unroll ${attends.unroll} % if attends.unroll
        for (int j = ${inline("first_key", "0")}; j < ${inline("end_key", key_count)}; ${inline("next_key", "j++")}) {
            real key[${attends.head_part}], value[${attends.head_part}];
            ${prefix}load_head(key, a.key + j * ${attends.key_stride});
            ${prefix}load_head(value, a.value + j * ${attends.key_stride});
            % include("attention/cuda/pair_gradient.tpl", { reads_dlogit = true, row = "task" })
            % slot("gather_by_query")
            ${prefix}add_head(dquery, dlogit, key);
            % slot("add_to_query")
        }
        ${prefix}store_head(dquery, ${PREFIX}LOGIT_SCALE,
                w->${attends.dq} + row * ${PREFIX}QUERY_STRIDE + h * ${PREFIX}HEAD_WIDTH${attends.channel});
        % slot("finish_query")
    }
    __syncthreads();
}
