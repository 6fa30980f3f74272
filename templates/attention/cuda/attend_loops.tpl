% local query_names = { key_count = cross and "v->" .. attends.S or "T" }
/* Computes the attended values of one token of each sequence. */ % if decodes
/* Computes the layer's attended values, and stores the values of the softmax that the backward pass needs. */ % else
NOINLINE void ${prefix}attend${decodes and "_one" or ""}(const bool training) {
    const step_view *v = &block()->view;
    const ${attends.state} *s = &block()->${attends.block};
    const int sequences = block()->sequences, T = v->${attends.T};
    const int l = block()->l;
    % include("attention/cuda/cache_rows.tpl") % if decodes and not cross
    % slot("begin_forward")
    % slot("tables")
    const int i = block()->current; % if decodes
    for (int task = ${attends.first_task}; task < sequences * ${PREFIX}HEADS${decodes and "" or " * T"}; task += ${attends.task_step}) {
        const int h = task % ${PREFIX}HEADS, sequence = task / ${PREFIX}HEADS; % if decodes
        const int i = task % T, h = task / T % ${PREFIX}HEADS, sequence = task / T / ${PREFIX}HEADS; % else
        ${attends.depends_on_mode and "" or "const "}${prefix}head a = ${prefix}make_head(v, l, s, &tables, sequence, h);
        % slot("unless_training")
        const int end = ${inline("end_key", query_names.key_count, query_names)};
        int j = ${inline("first_key", "0", query_names)};
        real query[${attends.head_part}];
        ${prefix}softmax m = {(real)-1e30, 0, {}};
        ${prefix}load_head(query, s->${attends.q} + sequence * ${PREFIX}QUERY_STRIDE + h * ${PREFIX}HEAD_WIDTH${attends.channel}); % if decodes and cross
        ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE); % else
        for (; j + ${PREFIX}KEYS <= end; j += ${PREFIX}KEYS) ${prefix}add_keys(${PREFIX}KEYS, &a, query, i, j, NULL, &m); % if not terms.has_scattered_keys
        for (; j < end; ${inline("next_key", "j++", query_names)}) ${prefix}add_keys(1, &a, query, i, j, NULL, &m);
        ${prefix}store_head(m.out, 1 / m.sum,
                s->${attends.out} + ${decodes and "sequence" or "((size_t)sequence * T + i)"} * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel});
        ${attends.if_first_lane}s->${prefix}largest[task] = m.largest; % if not decodes
        ${attends.if_first_lane}s->${prefix}inverse_sum[task] = 1 / m.sum; % if not decodes
    }
    __syncthreads();
}
