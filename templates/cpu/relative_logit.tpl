
/* One head's view of its rows, and in training where their gradients add up. */
typedef struct relative_head {
    const real *rows;
% if relative.toeplitz then
    int stride; /* from one channel of the rows to the next */
% else
% if relative.biases then
    const int32_t *offset; /* of the row of a pair, [keys][queries] */
    int queries;
% else
    const int32_t *position; /* of every token */
% end
% end
% if relative.biases then
    const real *content_bias, *position_bias; /* [HEAD_WIDTH] */
    real *dbiases; /* [content, position][HEAD_WIDTH][LANES] */
% end
    real *drows; /* [rows], RELATIVE_WIDTH apart */
} relative_head;

/* LANES queries of one head, ready for their logits with any key; lanes beyond the last query repeat it. */
typedef struct query_group {
% if relative.biases then
    vector content[HEAD_WIDTH], position[HEAD_WIDTH]; /* each with its bias, times LOGIT_SCALE */
% else
    vector query[HEAD_WIDTH]; /* times LOGIT_SCALE */
% end
% if relative.toeplitz then
    const real *rows; /* the first query's with key 0 */
    int stride;
% else
    const relative_head *relative;
    int first, T;
% end
} query_group;

INLINE void load_queries(const relative_head *relative, int T, int first, const real *restrict query,
        query_group *group) {
% if relative.biases then
    load_columns(HEAD_WIDTH, T, first, QUERY_STRIDE, query, LOGIT_SCALE, group->content);
    UNROLL
    for (int d = 0; d < HEAD_WIDTH; d++) {
        group->position[d] = group->content[d] + relative->position_bias[d] * LOGIT_SCALE;
        group->content[d] += relative->content_bias[d] * LOGIT_SCALE;
    }
% else
    load_columns(HEAD_WIDTH, T, first, QUERY_STRIDE, query, LOGIT_SCALE, group->query);
% end
% if relative.toeplitz then
    group->rows = relative->rows + first + T - 1;
    group->stride = relative->stride;
% else
    group->relative = relative;
    group->first = first;
    group->T = T;
% end
}

% if not relative.toeplitz then
/* Where the row of a pair of tokens starts. */
INLINE int pair_offset(const relative_head *relative, int query, int key) {
% if relative.biases then
    return relative->offset[key * relative->queries + query];
% else
    return table_row(relative->position[key] - relative->position[query]) * RELATIVE_WIDTH;
% end
}

/* Rows of LANES queries, from `first` on, with key j; lanes are queries, those beyond the last one repeat it. */
% if relative.biases then
INLINE void load_rows(const relative_head *relative, int first, int j, vector *column) {
    load_scattered(HEAD_WIDTH, relative->rows, relative->offset + j * relative->queries + first, column);
}
% else
INLINE void load_rows(const relative_head *relative, int T, int first, int j, vector *column) {
    int32_t offset[LANES];
    for (int i = 0; i < LANES; i++) offset[i] = pair_offset(relative, first + i < T ? first + i : T - 1, j);
    load_scattered(HEAD_WIDTH, relative->rows, offset, column);
}
% end

% end
/* The scaled logits of a group with key j; key: row 0 of the head's keys. */
INLINE vector pair_logit(const query_group *group, const real *restrict key, int j) {
% if not relative.toeplitz then
    vector row[HEAD_WIDTH];
% if relative.biases then
    load_rows(group->relative, group->first, j, row);
% else
    load_rows(group->relative, group->T, group->first, j, row);
% end
% end
% local row = relative.toeplitz and "load(group->rows + d * group->stride - j)" or "row[d]"
% if relative.biases then
    vector sum = dot_key(group->content, key + j * QUERY_STRIDE);
    UNROLL
    for (int d = 0; d < HEAD_WIDTH; d++) sum += group->position[d] * ${row};
% else
    vector sum = {0};
    key += j * QUERY_STRIDE;
    UNROLL
    for (int d = 0; d < HEAD_WIDTH; d++) sum += group->query[d] * (key[d] + ${row});
% end
    return sum;
}

static relative_head relative_of(const lh_cpu_step *step, int l, int h, const shard_sums *sums) {
% if relative.biases then
    const layer_parameters *p = &((const parameters *)step->parameters)->layer[l];
% end
    relative_head head = {0};
% if relative.toeplitz then
    head.stride = relative_stride(step->shape.length[0]);
% if relative.biases then
    head.rows = relative_rows(step, l) + h * HEAD_WIDTH * head.stride;
% else
    head.rows = relative_rows(step, l);
    (void)h;
% end
% else
% if relative.biases then
    head.offset = relative_offsets(step, RELATIVE_SETS > 1 ? l : 0);
    head.queries = round_up(step->shape.length[0], LANES);
    head.rows = relative_rows(step, l) + h * HEAD_WIDTH;
% else
    head.position = ((const shared *)step->shared)->position[${positions.layer_index}];
    head.rows = ((const parameters *)step->parameters)->layer[l].relative_table;
    (void)h;
% end
% end
% if relative.biases then
    head.content_bias = p->content_bias + h * HEAD_WIDTH;
    head.position_bias = p->position_bias + h * HEAD_WIDTH;
% end
    if (!sums) return head;
% if relative.biases then
    head.drows = sums->rows[l] + h * HEAD_WIDTH;
    head.dbiases = sums->biases[l] + h * 2 * HEAD_WIDTH * LANES;
% else
    head.drows = sums->rows[l];
% end
    return head;
}
