% local lane_words = attends.head_lanes > 1 and " HEAD_LANES threads share the channels of a head." or ""
/* ${cross and "Cross-attention" or "Self-attention"} of a shard. A thread processes all pairs of a query in one head; in the backward pass it afterwards processes all pairs of a key${attends.sum_pass_text}.
 * So every sum belongs to one thread and has a fixed order.${lane_words} Weights are not stored: the
 * backward pass recomputes them from each query's largest score and its inverse sum of exponentials. */

% include("attention/cuda/head.tpl")
% slot("dropout_factor")

% include("attention/cuda/pairs_loops.tpl")

% include(attends.forward)

% include("attention/cuda/queries.tpl")

% local first_index_of_head = "task / v->" .. attends.S .. " * v->" .. attends.T
% local first_task_offset = attends.stores_pairs and "first * " .. PREFIX .. "HEADS * v->" .. attends.S .. " + " or ""
% local sequences = attends.stores_pairs and "(first + count)" or "sequences"
% local words = attends.stores_pairs and " of `count` sequences, from `first` on; stores the gradients of their pairs" or ""
/* Computes the gradients of keys and values${words}. */
NOINLINE void ${prefix}attend_keys(int first, int count) {
    % include("attention/cuda/opening.tpl")
    % slot("tables")
    for (int task = ${first_task_offset}${attends.first_task}; task < ${sequences} * ${PREFIX}HEADS * v->${attends.S}; task += ${attends.task_step}) {
        const int j = task % v->${attends.S}, h = task / v->${attends.S} % ${PREFIX}HEADS,
                sequence = task / v->${attends.S} / ${PREFIX}HEADS;
        const size_t column = ((size_t)(sequence - first) * ${PREFIX}HEADS + h) * v->${attends.T} * v->${attends.S} + j;
        const ${prefix}head a = ${prefix}make_head(v, l, s, &tables, sequence, h);
        const real *dattended = w->${attends.dout} + (size_t)sequence * v->${attends.T} * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        real key[${attends.head_part}], value[${attends.head_part}];
        real dkey[${attends.head_part}] = {}, dvalue[${attends.head_part}] = {}${inline("sums_of_key", "")};
        ${prefix}load_head(key, a.key + j * ${attends.key_stride});
        ${prefix}load_head(value, a.value + j * ${attends.key_stride});
        % slot("start_key")
#pragma unroll ${attends.unroll} % if attends.unroll
        for (int i = ${inline("first_query", "0")}; i < ${inline("end_query", "a.T")}; ${inline("next_query", "i++")}) {
            const int index = ${cross and first_index_of_head or "task - j"} + i;
            const real largest = s->${prefix}largest[index], inverse = s->${prefix}inverse_sum[index],
                    delta = w->${prefix}delta[index];
            real query[${attends.head_part}], dout[${attends.head_part}];
            ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE);
            ${prefix}load_head(dout, dattended + i * WIDTH);
            % include("attention/cuda/pair_gradient.tpl", { reads_dlogit = true, row = "index" })
            ${attends.if_first_lane}w->${prefix}pairs[column + (size_t)i * v->${attends.S}] = dlogit; % if attends.stores_pairs
            % slot("keep_score")
            ${prefix}add_head(dkey, dlogit, query);
            ${prefix}add_head(dvalue, ${inline("weight_of_value", "weight")}, dout);
            % slot("add_to_key")
        }
        real *to = w->${attends.dkv} + (size_t)(sequence * v->${attends.S} + j) * ${attends.key_stride}${attends.to_keys} + h * ${PREFIX}HEAD_WIDTH;
        to += ${prefix}channel(); % if attends.head_lanes > 1
        % slot("end_key_gradient")
        ${prefix}store_head(dkey, ${PREFIX}LOGIT_SCALE, to);
        ${prefix}store_head(dvalue, 1, to + WIDTH);
    }
    __syncthreads();
}
% slot("after_keys")
% for _, sum_pass in ipairs(attends.sum_passes) do

% include(sum_pass.template, sum_pass)
% end
% slot("after_sum_passes")

% include("attention/cuda/backward.tpl")
