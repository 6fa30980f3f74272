/* ${cross and "Cross-attention" or "Self-attention"} of a shard. A thread has one query of one head (in the backward pass then a key${attends.owners_words})
 * and goes through its pairs, so every sum belongs to one thread and has a fixed order. Weights are not stored: the
 * backward pass recomputes each from the largest score of its query and the inverse of the query's sum. */

enum { ${PREFIX}KEYS = ${attends.keys_at_once} }; /* keys whose logits are computed interleaved */

% include("attention/cuda/head.tpl")
% slot("kept_weight")

% include("attention/cuda/head_vectors.tpl")
% slot("domain")

% slot("row_of_pair")
/* The scaled logit of a pair${inline("about_logit", "")}. */
INLINE real ${prefix}pair_logit(const ${prefix}head *a, const real query[${attends.head_part}],
        const real key[${attends.head_part}], int i, int j) {
    % slot("add_row")
    return ${prefix}dot_head(query, ${inline("key_and_row", "key")}) * ${PREFIX}LOGIT_SCALE${inline("add_biases", "")};
}
% slot("before_forward")

% local pair_logit, keys = prefix .. "pair_logit", cross and "v->" .. attends.S or "T"
% local take_keys, of_key = prefix .. "take_keys", { a = "a->", head = "a", h = "a->h", j = "j + u", key_count = "a->" .. attends.keys }
% local of_query = { key_count = keys }
/* The softmax of a query over the keys so far; exponentials are relative to the largest score. */
typedef struct ${prefix}softmax {
    real largest, sum, out[${attends.head_part}];
} ${prefix}softmax;

/* Adds `count` keys, from j on: their scores are computed interleaved, and the sums run in the order of keys. */
INLINE void ${take_keys}(const int count, const ${prefix}head *a, const real query[${attends.head_part}], int i, int j,
        ${prefix}softmax *m) {
    real score[${PREFIX}KEYS], highest = m->largest;
#pragma unroll
    for (int u = 0; u < count; u++) {
        real key[${attends.head_part}];
        ${prefix}load_head(key, a->key + (j + u) * ${attends.key_stride});
        score[u] = ${inline("score", invoke(pair_logit, "a", "query", "key", "i", "j + u"), of_key)};
        highest = score[u] > highest ? score[u] : highest;
    }
    const real shrink = exp_negative(m->largest - highest);
    m->largest = highest;
    m->sum *= shrink;
#pragma unroll
    for (int d = 0; d < ${attends.head_part}; d++) m->out[d] *= shrink;
#pragma unroll
    for (int u = 0; u < count; u++) {
        real value[${attends.head_part}];
        ${prefix}load_head(value, a->value + (j + u) * ${attends.key_stride});
        const real weight = exp_negative(score[u] - highest);
        m->sum += weight;
        ${prefix}add_head(m->out, ${inline("weight_of_key", "weight", of_key)}, value);
    }
}

/* Computes the layer's attended values, and stores the values of the softmax that the backward pass needs. */
NOINLINE void ${prefix}attend(const bool training) {
    const step_view *v = &block()->view;
    const ${attends.state} *s = &block()->${attends.block};
    const int sequences = block()->sequences, T = v->${attends.T};
    const int l = block()->l;
    % slot("begin_forward")
    % slot("tables")
    for (int task = ${attends.first_task}; task < sequences * ${PREFIX}HEADS * T; task += ${attends.tasks}) {
        const int i = task % T, h = task / T % ${PREFIX}HEADS, sequence = task / T / ${PREFIX}HEADS;
        ${attends.asks and "" or "const "}${prefix}head a = ${prefix}head_at(v, l, s, &tables, sequence, h);
        % slot("unless_training")
        const int end = ${inline("end_key", keys, of_query)};
        int j = ${inline("first_key", "0", of_query)};
        real query[${attends.head_part}];
        ${prefix}softmax m;
        ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE);
        m.largest = (real)-1e30;
        m.sum = 0;
        ${prefix}clear_head(m.out);
% if not terms.scattered then
        for (; j + ${PREFIX}KEYS <= end; j += ${PREFIX}KEYS) ${take_keys}(${PREFIX}KEYS, &a, query, i, j, &m);
% end
        for (; j < end; ${inline("next_key", "j++", of_query)}) ${take_keys}(1, &a, query, i, j, &m);
        ${prefix}store_head(m.out, 1 / m.sum,
                s->${attends.out} + ((size_t)sequence * T + i) * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel});
        ${attends.once}s->${prefix}largest[task] = m.largest;
        ${attends.once}s->${prefix}inverse_sum[task] = 1 / m.sum;
    }
    __syncthreads();
}

% include("attention/cuda/queries.tpl")

% local of_head = "task / v->" .. attends.S .. " * v->" .. attends.T
% local of_first = attends.pairs and "first * " .. PREFIX .. "HEADS * v->" .. attends.S .. " + " or ""
% local sequences = attends.pairs and "(first + count)" or "sequences"
% local words = attends.pairs and " of `count` sequences, from `first` on; stores the gradients of their pairs" or ""
/* Computes the gradients of keys and values${words}. */
NOINLINE void ${prefix}attend_keys(int first, int count) {
    % include("attention/cuda/opening.tpl")
    % slot("tables")
    for (int task = ${of_first}${attends.first_task}; task < ${sequences} * ${PREFIX}HEADS * v->${attends.S}; task += ${attends.tasks}) {
        const int j = task % v->${attends.S}, h = task / v->${attends.S} % ${PREFIX}HEADS,
                sequence = task / v->${attends.S} / ${PREFIX}HEADS;
        const size_t column = ((size_t)(sequence - first) * ${PREFIX}HEADS + h) * v->${attends.T} * v->${attends.S} + j;
        const ${prefix}head a = ${prefix}head_at(v, l, s, &tables, sequence, h);
        const real *dattended = w->${attends.dout} + (size_t)sequence * v->${attends.T} * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        real key[${attends.head_part}], value[${attends.head_part}], dkey[${attends.head_part}],
                dvalue[${attends.head_part}]${inline("sums_of_key", "")};
        ${prefix}load_head(key, a.key + j * ${attends.key_stride});
        ${prefix}load_head(value, a.value + j * ${attends.key_stride});
        ${prefix}clear_head(dkey);
        ${prefix}clear_head(dvalue);
#pragma unroll ${attends.unroll} % if attends.unroll
        for (int i = ${inline("first_query", "0")}; i < ${inline("end_query", "a.T")}; ${inline("next_query", "i++")}) {
            const int of_query = ${cross and of_head or "task - j"} + i;
            const real largest = s->${prefix}largest[of_query], inverse = s->${prefix}inverse_sum[of_query],
                    delta = w->${prefix}delta[of_query];
            real query[${attends.head_part}], dout[${attends.head_part}];
            ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE);
            ${prefix}load_head(dout, dattended + i * WIDTH);
            % include("attention/cuda/pair_gradient.tpl", { dlogit = true })
            ${attends.once}w->${prefix}pairs[column + (size_t)i * v->${attends.S}] = dlogit; % if attends.pairs
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
% slot("behind_keys")
% for _, owner in ipairs(attends.owners) do

% include(owner.template, owner)
% end
% slot("behind_owners")

% include("attention/cuda/backward.tpl")
