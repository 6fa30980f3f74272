% local scale = terms.visits_outwards and "1" or PREFIX .. "LOGIT_SCALE"
/* LANES queries of one head, prepared for logits with any key; lanes beyond the last query repeat it. */
typedef struct ${name}_queries {
    vector query[${PREFIX}HEAD_WIDTH]; /* scaled channels of the queries */ % if not terms.has_biases
    % slot("queries")
    int first; % if terms.needs_first_query
} ${name}_queries;

INLINE void load_${name}_queries(const ${name}_head *head, int first, const real *restrict query,
        ${name}_queries *group) {
    const int T = ${row_count};
    % slot("load_begin")
    load_columns(${PREFIX}HEAD_WIDTH, T, ${row_of_first}, ${PREFIX}QUERY_STRIDE, query, ${scale},
            ${terms.has_biases and "group->content" or "group->query"});
    % slot("load")
    group->first = first; % if terms.needs_first_query
}

% slot("logit_functions")
% if terms.by_pair then
% slot("logits")
% else
/* sum [N] = the scaled logits of a group with N keys, from j on. key: row 0 of the head's keys. */
INLINE void ${name}_logits(const int N, const ${name}_queries *group, const real *restrict key, int j, vector *sum) {
    % slot("logits_begin")
    key += j * ${K};
    % slot("logits") % if terms.pair_vectors
    dot_rows(${PREFIX}HEAD_WIDTH, N, group->query, ${K}, key, sum); % else
}

INLINE vector ${name}_logit(const ${name}_queries *group, const real *restrict key, int j) {
    vector sum;
    ${name}_logits(1, group, key, j, &sum);
    return sum;
}
% end
