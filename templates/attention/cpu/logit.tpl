% local scale = terms.outwards and "1" or PREFIX .. "LOGIT_SCALE"
% local row_of_first = ranged and "first - head->from" or "first"
/* LANES queries of one head, prepared for logits with any key; lanes beyond the last query repeat it. */
typedef struct ${name}_queries {
% if not terms.biases then
    vector query[${PREFIX}HEAD_WIDTH]; /* scaled channels of the queries */
% end
    % slot("queries")
% if terms.first_query then
    int first;
% end
} ${name}_queries;

INLINE void load_${name}_queries(const ${name}_head *head, int first, const real *restrict query,
        ${name}_queries *group) {
    const int T = ${ranged and "head->to - head->from" or "head->T"};
    % slot("load_room")
    load_columns(${PREFIX}HEAD_WIDTH, T, ${row_of_first}, ${PREFIX}QUERY_STRIDE, query, ${scale},
            ${terms.biases and "group->content" or "group->query"});
    % slot("load")
% if terms.first_query then
    group->first = first;
% end
}

% slot("logit_functions")
% if terms.by_pair then
% slot("logits")
% else
/* The scaled logits of a group with N keys, from j on; key: row 0 of the head's keys. */
INLINE void ${name}_logits(const int N, const ${name}_queries *group, const real *restrict key, int j, vector *sum) {
    % slot("logits_room")
    key += j * ${K};
% if terms.beside then
    % slot("logits")
% else
    dot_rows(${PREFIX}HEAD_WIDTH, N, group->query, ${K}, key, sum);
% end
}

INLINE vector ${name}_logit(const ${name}_queries *group, const real *restrict key, int j) {
    vector sum;
    ${name}_logits(1, group, key, j, &sum);
    return sum;
}
% end
