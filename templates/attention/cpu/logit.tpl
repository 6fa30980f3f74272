% local biases, toeplitz = relative.biases, relative.toeplitz
% local related = relative.kind ~= "none"
% local turned = relative.turned
% local scattered = related and not toeplitz and not turned
% local S, K = cross and "S" or "T", PREFIX .. (cross and "KEY_STRIDE" or "QUERY_STRIDE")
% local row_of_first = ranged and "first - head->from" or "first"
/* LANES queries of one head, ready for their logits with any key; lanes beyond the last query repeat it. */
typedef struct ${name}_queries {
% if turned then
    vector content[${PREFIX}HEAD_WIDTH]; /* with its bias, times ${PREFIX}LOGIT_SCALE */
    const real *far; /* [keys][LANES] what the logits gain by the keys' distances */
% elseif biases then
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
% if turned then
    vector position[${PREFIX}HEAD_WIDTH];
    % call("load_columns", PREFIX .. "HEAD_WIDTH", "T", row_of_first, PREFIX .. "QUERY_STRIDE", "query", PREFIX .. "LOGIT_SCALE", "group->content")
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
        position[d] = group->content[d] + head->position_bias[d] * ${PREFIX}LOGIT_SCALE;
        group->content[d] += head->content_bias[d] * ${PREFIX}LOGIT_SCALE;
    }
    turn_queries(${PREFIX}HEAD_WIDTH, WIDTH, position, head->weight, head->places + first, head->place_stride, head->turned);
    group->far = head->far;
% elseif biases then
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

% if turned then
/* What the logits of a group with keys from `from` to `to` - 1 gain by their distances: before them. from: a whole run of
 * TURNED_KEYS. */
INLINE void ${name}_far_logits(const ${name}_head *head, int from, int to) {
    dot_turned(WIDTH, to - from, head->turned, head->codes + from * WIDTH, head->far + from * LANES);
}

% end
% if scattered then
/* Where the row of a pair of tokens starts. */
INLINE int ${name}_pair_offset(const ${name}_head *head, int query, int key) {
    return ${name}_table_row(head->${cross and "key_" or ""}position[key] - head->position[query]) * ${PREFIX}RELATIVE_WIDTH;
}

/* Rows of LANES queries, from `first` on, with key j; lanes are queries, those beyond the last one repeat it. */
INLINE void load_${name}_rows(const ${name}_head *head, int first, int j, vector *column) {
    int32_t offset[LANES];
    for (int i = 0; i < LANES; i++)
        offset[i] = ${name}_pair_offset(head, first + i < head->T ? first + i : head->T - 1, j);
    load_scattered(${PREFIX}HEAD_WIDTH, head->rows, offset, column);
}

% end
% if scattered then
/* The scaled logits of a group with key j; key: row 0 of the head's keys. */
INLINE vector ${name}_logit(const ${name}_queries *group, const real *restrict key, int j) {
    vector row[${PREFIX}HEAD_WIDTH];
    load_${name}_rows(group->head, group->first, j, row);
    vector sum = {0};
    key += j * ${K};
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) sum += group->query[d] * (key[d] + row[d]);
    return sum;
}

/* With N keys, from j on. */
INLINE void ${name}_logits(const int N, const ${name}_queries *group, const real *restrict key, int j, vector *sum) {
    for (int u = 0; u < N; u++) sum[u] = ${name}_logit(group, key, j + u);
}
% else
/* The scaled logits of a group with N keys, from j on; key: row 0 of the head's keys. */
INLINE void ${name}_logits(const int N, const ${name}_queries *group, const real *restrict key, int j, vector *sum) {
% if biases and not turned then
    vector far[SIDE_BY_SIDE]; /* chains of their own, so that they do not wait for the others */
% end
    key += j * ${K};
% if turned then
    dot_rows(${PREFIX}HEAD_WIDTH, N, group->content, ${K}, key, sum);
    UNROLL
    for (int u = 0; u < N; u++) sum[u] += load(group->far + (j + u) * LANES);
% elseif biases then
    dot_rows(${PREFIX}HEAD_WIDTH, N, group->content, ${K}, key, sum);
    UNROLL
    for (int u = 0; u < N; u++) far[u] = group->position[0] * load(group->rows - j - u);
    UNROLL
    for (int d = 1; d < ${PREFIX}HEAD_WIDTH; d++) {
        UNROLL
        for (int u = 0; u < N; u++) far[u] += group->position[d] * load(group->rows + d * group->stride - j - u);
    }
    UNROLL
    for (int u = 0; u < N; u++) sum[u] += far[u];
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
