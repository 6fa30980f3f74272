
/* One head's view of its rows, and in training where their gradients add up. */
typedef struct relative_head {
    const real *rows;
% if relative.toeplitz then
    int stride; /* from one channel of the rows to the next */
% else
    const int32_t *position; /* of every token */
% if relative.biases then
    const int32_t *row; /* by distance + MAX_POSITION - 1 */
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
/* Row of a pair of tokens. */
INLINE int pair_row(const relative_head *relative, int query, int key) {
    int distance = relative->position[key] - relative->position[query];
% if relative.biases then
    return relative->row[distance + MAX_POSITION - 1];
% else
    return table_row(distance);
% end
}

/* Rows of LANES queries, from `first` on, with key j; lanes are queries. */
INLINE void load_rows(const relative_head *relative, int T, int first, int j, vector *column) {
    real rows[LANES * HEAD_WIDTH + LANES] __attribute__((aligned(64))); /* load_columns may read a vector beyond */
    for (int i = 0; i < LANES; i++) {
        int query = first + i < T ? first + i : T - 1;
        memcpy(rows + i * HEAD_WIDTH, relative->rows + pair_row(relative, query, j) * RELATIVE_WIDTH,
                HEAD_WIDTH * sizeof(real));
    }
    load_columns(HEAD_WIDTH, LANES, 0, HEAD_WIDTH, rows, 1, column);
}

% end
/* The scaled logits of a group with key j; key: row 0 of the head's keys. */
INLINE vector pair_logit(const query_group *group, const real *restrict key, int j) {
% if not relative.toeplitz then
    vector row[HEAD_WIDTH];
    load_rows(group->relative, group->T, group->first, j, row);
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
    const shared *s = step->shared;
    head.position = s->position[${positions.layer_index}];
% if relative.biases then
    head.row = s->relative_row[RELATIVE_SETS > 1 ? l : 0];
    head.rows = relative_rows(step, l) + h * HEAD_WIDTH;
% else
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
