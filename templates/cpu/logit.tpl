% local biases, toeplitz = relative.biases, relative.toeplitz
% local related = relative.kind ~= "none"
% local scattered = related and not toeplitz
% local S, K = cross and "S" or "T", PREFIX .. (cross and "KEY_STRIDE" or "QUERY_STRIDE")
% local row_of_first = ranged and "first - head->from" or "first"
/* LANES queries of one head, ready for their logits with any key; lanes beyond the last query repeat it. */
typedef struct ${name}_queries {
% if biases then
    vector content[${PREFIX}HEAD_WIDTH], position[${PREFIX}HEAD_WIDTH]; /* each with its bias, times ${PREFIX}LOGIT_SCALE */
% else
    vector query[${PREFIX}HEAD_WIDTH]; /* times ${PREFIX}LOGIT_SCALE */
% end
% if toeplitz then
    const real *rows; /* the first query's with key 0 */
    int stride;
% elseif scattered then
    const ${name}_head *head;
% end
% if scattered or score.kind ~= "none" or mask.kind ~= "none" then
    int first;
% end
} ${name}_queries;

INLINE void load_${name}_queries(const ${name}_head *head, int first, const real *restrict query,
        ${name}_queries *group) {
    const int T = ${ranged and "head->to - head->from" or "head->T"};
% if biases then
    % call("load_columns", PREFIX .. "HEAD_WIDTH", "T", row_of_first, PREFIX .. "QUERY_STRIDE", "query", PREFIX .. "LOGIT_SCALE", "group->content")
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
        group->position[d] = group->content[d] + head->position_bias[d] * ${PREFIX}LOGIT_SCALE;
        group->content[d] += head->content_bias[d] * ${PREFIX}LOGIT_SCALE;
    }
% else
    % call("load_columns", PREFIX .. "HEAD_WIDTH", "T", row_of_first, PREFIX .. "QUERY_STRIDE", "query", PREFIX .. "LOGIT_SCALE", "group->query")
% end
% if toeplitz then
    group->rows = head->rows + first + head->${S} - 1;
    group->stride = head->stride;
% elseif scattered then
    group->head = head;
% end
% if scattered or score.kind ~= "none" or mask.kind ~= "none" then
    group->first = first;
% end
}

% if scattered then
/* Where the row of a pair of tokens starts. */
INLINE int ${name}_pair_offset(const ${name}_head *head, int query, int key) {
% if biases then
    return head->offset[key * head->queries + query];
% else
    return ${name}_table_row(head->${cross and "key_" or ""}position[key] - head->position[query]) * ${PREFIX}RELATIVE_WIDTH;
% end
}

/* Rows of LANES queries, from `first` on, with key j; lanes are queries, those beyond the last one repeat it. */
INLINE void load_${name}_rows(const ${name}_head *head, int first, int j, vector *column) {
% if biases then
    load_scattered(${PREFIX}HEAD_WIDTH, head->rows, head->offset + j * head->queries + first, column);
% else
    int32_t offset[LANES];
    for (int i = 0; i < LANES; i++)
        offset[i] = ${name}_pair_offset(head, first + i < head->T ? first + i : head->T - 1, j);
    load_scattered(${PREFIX}HEAD_WIDTH, head->rows, offset, column);
% end
}

% end
% if scattered then
/* The scaled logits of a group with key j; key: row 0 of the head's keys. */
INLINE vector ${name}_logit(const ${name}_queries *group, const real *restrict key, int j) {
    vector row[${PREFIX}HEAD_WIDTH];
    load_${name}_rows(group->head, group->first, j, row);
% if biases then
    vector sum = dot_row(${PREFIX}HEAD_WIDTH, group->content, key + j * ${K});
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) sum += group->position[d] * row[d];
% else
    vector sum = {0};
    key += j * ${K};
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) sum += group->query[d] * (key[d] + row[d]);
% end
    return sum;
}

/* With N keys, from j on. */
INLINE void ${name}_logits(const int N, const ${name}_queries *group, const real *restrict key, int j, vector *sum) {
    for (int u = 0; u < N; u++) sum[u] = ${name}_logit(group, key, j + u);
}
% else
/* The scaled logits of a group with N keys, from j on; key: row 0 of the head's keys. */
INLINE void ${name}_logits(const int N, const ${name}_queries *group, const real *restrict key, int j, vector *sum) {
    key += j * ${K};
% if biases then
    dot_rows(${PREFIX}HEAD_WIDTH, N, group->content, ${K}, key, sum);
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
        UNROLL
        for (int u = 0; u < N; u++) sum[u] += group->position[d] * load(group->rows + d * group->stride - j - u);
    }
% elseif related then
    UNROLL
    for (int u = 0; u < N; u++) sum[u] = (vector){0};
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
        UNROLL
        for (int u = 0; u < N; u++)
            sum[u] += group->query[d] * (key[u * ${K} + d] + load(group->rows + d * group->stride - j - u));
    }
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
