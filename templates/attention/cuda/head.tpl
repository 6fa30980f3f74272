% local stride = PREFIX .. "QUERY_STRIDE"
% local stride_words = (cross
%     and ("rows of queries have the stride %s, of keys and values %sKEY_STRIDE"):format(stride, PREFIX)
%     or ("%sHEAD_WIDTH channels each, with the stride %s"):format(PREFIX, stride))
/* Values of one head of one sequence for the loops over its pairs. */
typedef struct ${prefix}head {
    const real *query, *key, *value; /* rows of token 0; ${stride_words} */
    % slot("members")
    int h; % if terms.needs_head_number
    % slot("members_of_weights")
    int T${cross and ", S; /* numbers of queries and of keys */" or ";"}
} ${prefix}head;

% paragraph("attention/cuda/head_lanes.tpl") % if attends.head_lanes > 1
INLINE ${prefix}head ${prefix}make_head(const step_view *v, int l, const ${attends.state} *s,
        const ${prefix}score_tables *score, int sequence, int h) {
    ${prefix}head a;
    a.T = v->${attends.T};
    a.query = get_row(s->${attends.q} + h * ${PREFIX}HEAD_WIDTH, sequence * v->${attends.T}, ${PREFIX}QUERY_STRIDE); % if attends.in_fragments
    a.query = s->${attends.q} + (size_t)sequence * v->${attends.T} * ${PREFIX}QUERY_STRIDE + h * ${PREFIX}HEAD_WIDTH${attends.channel}; % else
% if cross then
    a.S = v->${attends.S};
    a.key = s->${attends.kv} + (size_t)sequence * v->${attends.S} * ${PREFIX}KEY_STRIDE + h * ${PREFIX}HEAD_WIDTH${attends.channel};
    a.value = a.key + WIDTH;
% else
    a.key = a.query + WIDTH;
    a.value = a.query + 2 * WIDTH;
% end
    % slot("set_rows")
    % slot("set_members")
    a.h = h; % if terms.needs_head_number
    % slot("set_members_of_weights")
    return a;
}
