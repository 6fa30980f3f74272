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
