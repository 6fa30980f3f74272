% -- the index of a query's row in the array of attended values
% local out_row = decodes and "sequence" or "((size_t)sequence * T + i)"
/* Computes the attended values of one token of each sequence. */ % if decodes
/* Computes the layer's attended values${inline("stored_words", "")}. */ % else
NOINLINE void ${prefix}attend${decodes and "_one" or ""}(const bool training) {
    const step_view *v = &block()->view;
    const ${attends.state} *s = &block()->${attends.block};
    const int sequences = block()->sequences, T = v->${attends.T};
    const int l = block()->l;
    % include("attention/cuda/cache_rows.tpl") % if decodes
    % slot("begin_forward")
    % slot("tables")
    const int i = block()->current; % if decodes
    for (int task = ${attends.first_task}; task < sequences * ${PREFIX}HEADS${decodes and "" or " * T"}; task += ${attends.task_step}) {
        const int h = task % ${PREFIX}HEADS, sequence = task / ${PREFIX}HEADS; % if decodes
        const int i = task % T, h = task / T % ${PREFIX}HEADS, sequence = task / T / ${PREFIX}HEADS; % else
        ${attends.depends_on_mode and "" or "const "}${prefix}head a = ${prefix}make_head(v, l, s, &tables, sequence, h);
        % slot("unless_training")
        real *out = s->${attends.out} + ${out_row} * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel};
        real query[${attends.head_part}];
        ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE);
        % slot("visit_leftwards")
    }
    __syncthreads();
}
