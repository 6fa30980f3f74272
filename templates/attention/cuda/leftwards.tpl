% local lane_words = attends.head_lanes > 1 and " HEAD_LANES threads share the channels of a head." or ""
/* Self-attention of a shard.
 * attend: a thread visits the keys of one query of one head leftwards, the nearest key first.
 * attend_queries: the thread visits them again and stores two numbers for each pair. Then it visits them rightwards to
 * compute the gradients of the query and of the pairs' logits.
 * attend_keys: a thread computes the gradients of one key from the numbers of the key's pairs.
 * Every sum belongs to one thread and has a fixed order.${lane_words} */

% slot("constants")
% include("attention/cuda/head.tpl")
% slot("dropout_factor")

% include("attention/cuda/head_vectors.tpl")

/* The scaled logit of a pair of the query and key j. */
INLINE real ${prefix}pair_logit(const ${prefix}head *a, const real query[${attends.head_part}], int j) {
    real key[${attends.head_part}];
    ${prefix}load_head(key, a->key + j * ${PREFIX}QUERY_STRIDE);
    return ${prefix}dot_head(query, key) * ${PREFIX}LOGIT_SCALE;
}

% slot("visit_keys")
% include("attention/cuda/attend_leftwards.tpl")
% slot("backward_functions")

/* Computes the gradients of queries, for `count` sequences from `first` on. Stores a pair's weight and the gradient of
 * its logit at [query - key][query]. */
NOINLINE void ${prefix}attend_queries(int first, int count) {
    % include("attention/cuda/opening.tpl")
    const int T = v->${attends.T};
    for (int task = first * ${PREFIX}HEADS * T + ${attends.first_task}; task < (first + count) * ${PREFIX}HEADS * T; task += ${attends.task_step}) {
        const int i = task % T, h = task / T % ${PREFIX}HEADS, sequence = task / T / ${PREFIX}HEADS;
        const ${prefix}head a = ${prefix}make_head(v, l, s, NULL, sequence, h);
        const size_t row = (size_t)sequence * T + i, offset_of_row = row * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        const size_t head_index = (size_t)(sequence - first) * ${PREFIX}HEADS + h;
        real *weights = w->${prefix}weights + head_index * T * T, *pairs = w->${prefix}pairs + head_index * T * T;
        real query[${attends.head_part}], dout[${attends.head_part}], dquery[${attends.head_part}] = {};
        ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE);
        ${prefix}load_head(dout, w->${attends.dout} + offset_of_row);
        % slot("store_pairs")
#pragma unroll ${attends.unroll} % if attends.unroll
        for (int j = 0; ${inline("is_key", "j <= i")}; j++) {
            const size_t place = (size_t)(i - j) * T + i;
            real key[${attends.head_part}], value[${attends.head_part}];
            ${prefix}load_head(key, a.key + j * ${PREFIX}QUERY_STRIDE);
            ${prefix}load_head(value, a.value + j * ${PREFIX}QUERY_STRIDE);
            % slot("visit_pair")
            __syncwarp(${prefix}head_lanes()); /* all lanes have read the pair's values */ % if attends.head_lanes > 1
            pairs[place] = dlogit;
            % slot("keep_weight")
            ${prefix}add_head(dquery, dlogit, key);
        }
        % slot("end_pairs")
        ${prefix}store_head(dquery, ${PREFIX}LOGIT_SCALE,
                w->${attends.dq} + row * ${PREFIX}QUERY_STRIDE + h * ${PREFIX}HEAD_WIDTH${attends.channel});
    }
    __syncthreads();
}

/* Computes the gradients of keys and values from the numbers that attend_queries stored for the same sequences. */
NOINLINE void ${prefix}attend_keys(int first, int count) {
    % include("attention/cuda/opening.tpl")
    const int T = v->${attends.T};
    for (int task = first * ${PREFIX}HEADS * T + ${attends.first_task}; task < (first + count) * ${PREFIX}HEADS * T; task += ${attends.task_step}) {
        const int j = task % T, h = task / T % ${PREFIX}HEADS, sequence = task / T / ${PREFIX}HEADS;
        const ${prefix}head a = ${prefix}make_head(v, l, s, NULL, sequence, h);
        const real *dattended = w->${attends.dout} + (size_t)sequence * T * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        const size_t head_index = (size_t)(sequence - first) * ${PREFIX}HEADS + h;
        const real *weights = w->${prefix}weights + head_index * T * T, *pairs = w->${prefix}pairs + head_index * T * T;
        real dkey[${attends.head_part}] = {}, dvalue[${attends.head_part}] = {};
#pragma unroll ${attends.unroll} % if attends.unroll
        for (int i = ${inline("nearest_query", "j")}; i < T; i++) {
            const size_t place = (size_t)(i - j) * T + i;
            real query[${attends.head_part}], dout[${attends.head_part}];
            ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE);
            ${prefix}load_head(dout, dattended + i * WIDTH);
            ${prefix}add_head(dkey, pairs[place], query);
            ${prefix}add_head(dvalue, weights[place], dout);
        }
        real *to = w->${attends.dq} + (size_t)(sequence * T + j) * ${PREFIX}QUERY_STRIDE + WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        ${prefix}store_head(dkey, ${PREFIX}LOGIT_SCALE, to);
        ${prefix}store_head(dvalue, 1, to + WIDTH);
    }
    __syncthreads();
}
% slot("row_gradients")

/* Computes the gradients of queries, keys and values in the workspace${attends.layer_gradients and ", and of the layer's table" or ""}. */
% include("attention/cuda/walks_backward.tpl")
