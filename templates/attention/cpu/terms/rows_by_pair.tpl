% -- Vectors of distances if the distance of a pair depends on the positions of both tokens: each pair looks up its row.
% section("members")
const real *rows; /* the table of vectors of distances, [rows][RELATIVE_WIDTH] */
const int32_t *position, *key_position; /* positions of queries, positions of keys */ % if cross
const int32_t *position; /* positions of tokens */ % else
real *drows; /* [rows][RELATIVE_WIDTH] gradients */
% section("head")
head.position = ((const shared *)w->step->shared)->${prefix}position[${positions.layer_index}];
head.key_position = ((const shared *)w->step->shared)->${prefix}key_position[${positions.layer_index}]; % if cross
head.rows = ((const parameters *)w->step->parameters)->${stack.member}[l].${prefix}relative_table;
head->drows = w->sums.${name}.rows[l]; % section("head_grad")
const ${name}_head *head; % section("queries")
group->head = head; % section("load")
% section("logit_functions")
/* The offset of a pair's row in the table of vectors of distances, in elements. */
INLINE int ${name}_pair_offset(const ${name}_head *head, int query, int key) {
    return ${name}_table_row(head->${cross and "key_" or ""}position[key] - head->position[query]) * ${PREFIX}RELATIVE_WIDTH;
}

/* column [HEAD_WIDTH] = the rows of the pairs of key j with LANES queries, from `first` on; lanes beyond the last query
 * repeat it. */
INLINE void load_${name}_rows(const ${name}_head *head, int first, int j, vector *column) {
    int32_t offset[LANES];
    for (int i = 0; i < LANES; i++)
        offset[i] = ${name}_pair_offset(head, first + i < head->T ? first + i : head->T - 1, j);
    load_scattered(${PREFIX}HEAD_WIDTH, head->rows, offset, column);
}

% section("logits")
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

/* sum [N] = the scaled logits of a group with N keys, from j on. */
INLINE void ${name}_logits(const int N, const ${name}_queries *group, const real *restrict key, int j, vector *sum) {
    for (int u = 0; u < N; u++) sum[u] = ${name}_logit(group, key, j + u);
}
% section("queries_grad")

/* Adds to dq the gradients of a group's queries from the terms of the rows. The caller scales dq later. */
INLINE void add_${name}_row_gradients(const ${name}_head *head, int first, int begin, int end,
        const real *restrict dlogits, vector *dq) {
    const int ${head_lengths};
    for (int j = ${from_key}; j < ${to_key}; j++) {
        vector dlogit = load(dlogits + j * LANES);
        vector row[${PREFIX}HEAD_WIDTH];
        load_${name}_rows(head, first, j, row);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) dq[d] += dlogit * row[d];
    }
}

/* Adds the gradients of the rows of all pairs of query i; lanes are channels. */
INLINE void ${name}_relative_rows_grad(const ${name}_head *head, int i, const ${name}_scratch *scratch) {
    /* row: the channels of query i, by which each pair's row is multiplied */
    const real *row = scratch->rows + i * ${rows.vectors_per_query} * ${PREFIX}HEAD_WIDTH + ${PREFIX}HEAD_WIDTH;
    const int first_group = ${name}_first_group(head), group = ${has_query_bounds and "(i - first_group)" or "i"} / LANES;
    const real *dlogit = scratch->dlogits + group * ${name}_group_weights(head->${S}) + i % LANES;
    const int ${S} = head->${S};
    % include("attention/cpu/span.tpl", { first = "i / LANES * LANES" })
    for (int j = ${from_key}; j < ${to_key}; j++) {
        real *drow = head->drows + ${name}_pair_offset(head, i, j);
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++)
            *(${name}_part *)(drow + part * ${PREFIX}HEAD_PART) +=
                    *(const ${name}_part *)(row + part * ${PREFIX}HEAD_PART) * dlogit[j * LANES];
    }
}
add_${name}_row_gradients(head, first, begin, end, dlogits, dq); % section("queries_back")
for (int i = ${from_query}; i < ${to_query}; i++) ${name}_relative_rows_grad(head, i, scratch); % section("rows_back")
% section("rows_back_of_block")
for (int i = block.first_query; i < block.end_query; i++) ${name}_relative_rows_grad(&block, i, scratch);
% section("tables")
enum { ${PREFIX}RELATIVE_WIDTH = ${PREFIX}HEAD_WIDTH }; /* channels of a row: ${rows.width_words} */

% include("attention/cpu/table_row.tpl")

real *rows[${stack.count}]; /* [rows][RELATIVE_WIDTH] gradients of the rows of distances */ % section("sums")
% section("lay_out_sums")
size_t rows = ${rows.rows_text};
for (int l = 0; l < ${stack.count}; l++) {
    sums->rows[l] = reserve(memory, used, rows * ${PREFIX}RELATIVE_WIDTH * sizeof(real));
}
% section("end_sums")
for (int l = 0; l < ${stack.count}; l++)
    for (int e = 0; e < (${rows.rows_text}) * ${PREFIX}HEAD_WIDTH; e++)
        g->${stack.member}[l].${prefix}relative_table[e] += sums->rows[l][e];
