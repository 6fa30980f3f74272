/* Sums the gradients of a shard's pairs for each ${title} in each head. A thread computes one sum at a time, sequence
 * after sequence. */
NOINLINE void ${prefix}attend_by_${class}(void) {
    % include("attention/cuda/opening.tpl")
    % slot("begin_sums")
    const int count = ${inline("count", "")};
    % slot("find_pairs")
    % slot("tables")
    for (int task = ${attends.first_task}; task < ${PREFIX}HEADS * count; task += ${attends.task_step}) {
        const int h = task / count;
        % slot("clear")
        % slot("place")
        for (int sequence = 0; sequence < sequences; sequence++) {
            const ${prefix}head a = ${prefix}make_head(v, l, s, &tables, sequence, h);
            const size_t rows = (size_t)sequence * v->${attends.T};
% -- the text in the slot each_pair ends with the opening brace of a loop or block
            % slot("each_pair")
                % slot("skip_pair", { key_count = "v->" .. attends.S })
                const size_t index = ((size_t)sequence * ${PREFIX}HEADS + h) * v->${attends.T} + i;
                const real largest = s->${prefix}largest[index], inverse = s->${prefix}inverse_sum[index];
                const real delta = w->${prefix}delta[index];
                real query[${attends.head_part}], key[${attends.head_part}], value[${attends.head_part}],
                        dout[${attends.head_part}];
                ${prefix}load_head(query, a.query + i * ${PREFIX}QUERY_STRIDE);
                ${prefix}load_head(key, a.key + j * ${attends.key_stride});
                ${prefix}load_head(value, a.value + j * ${attends.key_stride});
                ${prefix}load_head(dout,
                        w->${attends.dout} + (rows + i) * WIDTH + h * ${PREFIX}HEAD_WIDTH${attends.channel});
                % include("attention/cuda/pair_gradient.tpl", { reads_dlogit = sums_rows, row = "index" })
                % slot("add_pair")
            }
        }
        % slot("store")
    }
}
