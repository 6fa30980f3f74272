% -- Vectors of distances, for distances that depend only on key - query: one row for each difference.
% -- last_vector: C text of the offset from a query's first vector in scratch->rows to its last vector
% local last_vector = (rows.biases and "2 * " or "") .. PREFIX .. "HEAD_WIDTH"
% local query_gradient = rows.biases and "dposition" or "dq"
% local head_offset, dhead_offset, biases_text = "", "", ""
% if rows.biases then
% biases_text = ", and adds the gradients of the biases"
% head_offset, dhead_offset = (" + h * %sHEAD_WIDTH * head.stride"):format(PREFIX), (" + h * %sHEAD_WIDTH"):format(PREFIX)
% end
% -- slice_offset: C text that skips rows that only longer sequences read
% local slice_offset = slices and " + get_slice(w->step, " .. keys.stream .. ")" or ""
% local row_width = rows.biases and "WIDTH" or PREFIX .. "HEAD_WIDTH"
% local distance = ("step->shape.length[%d] - 1 - x"):format(keys.stream)
% distance = positions.distance.draws and invoke(prefix .. "drawn_distance", "drawn", distance) or distance
% section("members")
const real *rows; /* the vectors of distances */
int stride; /* elements from one channel of the rows to the next */
real *drows; /* [rows][RELATIVE_WIDTH] gradients */
% section("head")
head.stride = ${name}_row_stride(${head_table_lengths});
head.rows = ${name}_rows(w->step, l)${slice_offset}${head_offset};
head->drows = w->sums.${name}.rows[l]${dhead_offset}; % section("head_grad")
% section("queries")
const real *rows; /* the row of the pair of the group's first query and key 0 */
int stride; /* elements from one channel of the rows to the next */
% section("load")
group->rows = head->rows + first + head->${S} - 1;
group->stride = head->stride;
% section("queries_grad")

/* Adds the gradients of KEYS rows, from row x on. Lanes are channels. Row x belongs to the pairs of query i and key
 * i + ${S} - 1 - x. dlogits has KEYS zeros before and after the keys that a group of queries sees. */
INLINE void ${name}_relative_rows_grad(const ${name}_head *head, ${length_parameters}, int x, const ${name}_scratch *scratch,
        real *restrict drows) {
    ${name}_part dr[${PREFIX}KEYS][${PREFIX}HEAD_PARTS];
    UNROLL
    for (int u = 0; u < ${PREFIX}KEYS; u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) dr[u][part] = (${name}_part){0};
    }
    /* row x + u belongs to query i and key i + offset - u; queries from query_end on have no key for these rows */
    int offset = ${S} - 1 - x, i = offset < 0 ? -offset : 0, query_end = ${S} - offset + ${PREFIX}KEYS - 1;
    int end = query_end < T ? query_end : T;
    const int first_group = ${name}_first_group(head);
% if has_query_bounds then
    if (i < head->first_query) i = head->first_query;
    if (end > head->end_query) end = head->end_query;
% end
    while (i < end) {
        int first = i / LANES * LANES, group_end = first + LANES < end ? first + LANES : end;
        const real *dlogits =
                scratch->dlogits + ${PREFIX}KEYS * LANES + ${has_query_bounds and "(first - first_group)" or "first"} / LANES * ${name}_group_dlogits(${S}) - first;
% if terms.has_spans then
        int from, to;
        ${name}_span(head, first, &from, &to);
        const int first_unseen = to - offset + ${PREFIX}KEYS - 1; /* queries from here on see no key of these rows */
        if (i < from - offset) i = from - offset;
        for (; i < group_end && i < first_unseen; i++) {
% else
        for (; i < group_end; i++) {
% end
            const real *row = scratch->rows + i * ${rows.vectors_per_query} * ${PREFIX}HEAD_WIDTH + ${last_vector};
            const real *dlogit = dlogits + (i + offset) * LANES + i;
            UNROLL
            for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) {
                ${name}_part q = *(const ${name}_part *)(row + part * ${PREFIX}HEAD_PART);
                UNROLL
                for (int u = 0; u < ${PREFIX}KEYS; u++) dr[u][part] += q * dlogit[-u * LANES];
            }
        }
        i = group_end; % if terms.has_spans
    }
    for (int u = 0; u < ${PREFIX}KEYS && x + u < ${name}_distance_count(${T_S}); u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++)
            *(${name}_part *)(drows + (x + u) * ${PREFIX}RELATIVE_WIDTH + part * ${PREFIX}HEAD_PART) += dr[u][part];
    }
}

/* Adds to dq the gradients of a group's queries from the terms of the rows${biases_text}. The caller scales dq later. */
INLINE void add_${name}_row_gradients(const ${name}_head *head, int first, int begin, int end,
        const real *restrict dlogits, vector inverse, vector *dq) {
    const int T = head->T, S = head->${S};
% if rows.biases then
    vector dposition[${PREFIX}HEAD_WIDTH];
    clear_columns(${PREFIX}HEAD_WIDTH, dposition);
% end
    const real *rows = head->rows + first + ${S} - 1;
    for (int j = ${from_key}; j < ${to_key}; j++) {
        vector dlogit = load(dlogits + j * LANES);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) ${query_gradient}[d] += dlogit * load(rows + d * head->stride - j);
    }
% if rows.biases then
    vector factor = keep_where(lanes_before(T - first), inverse * ${PREFIX}LOGIT_SCALE);
    % slot("biases_back")
% end
}
memset(scratch->dlogits, 0, ${PREFIX}KEYS * LANES * sizeof(real)); % section("queries_begin") % if not terms.has_spans
% section("queries_back")
memset(dlogits + (begin - ${PREFIX}KEYS) * LANES, 0, ${PREFIX}KEYS * LANES * sizeof(real)); % if terms.has_spans
memset(dlogits + ${to_key} * LANES, 0, ${PREFIX}KEYS * LANES * sizeof(real));
add_${name}_row_gradients(head, first, begin, end, dlogits, inverse, dq);
% section("rows_back")
for (int x = 0; x < ${name}_distance_count(${T_S}); x += ${PREFIX}KEYS) ${name}_relative_rows_grad(head, ${T_S}, x,
        scratch, head->drows);
% section("rows_back_of_block")
for (int x = block.first_query / ${PREFIX}KEYS * ${PREFIX}KEYS; x < block.end_query + T - 1; x += ${PREFIX}KEYS)
    ${name}_relative_rows_grad(&block, T, x, scratch, head->drows);
real *rows[${stack.count}]; /* [rows][RELATIVE_WIDTH] gradients of the rows of distances */ % section("sums")
% section("lay_out_sums")
size_t rows = (size_t)${name}_distance_count(${T_S});
for (int l = 0; l < ${stack.count}; l++) sums->rows[l] = reserve(memory, used,
        rows * ${PREFIX}RELATIVE_WIDTH * sizeof(real));
% section("tables")
enum { ${PREFIX}RELATIVE_WIDTH = ${row_width} }; /* channels of a row: ${rows.width_words} */

/* The number of rows: one for every difference (key - query). Row x belongs to the difference ${S} - 1 - x. For one key,
 * adjacent queries have adjacent rows. */
INLINE int ${name}_distance_count(${length_parameters}) { return ${cross and "T + S" or "2 * T"} - 1; }

/* The number of elements from one channel of the rows to the next; rows are stored channel by channel. The stride is an
 * odd number of vectors, which spreads channels over the sets of a cache. Zeros follow the last row, so that a vector can
 * be loaded from any row on. */
INLINE int ${name}_row_stride(${length_parameters}) { return (round_up(${cross and "T + S" or "2 * T"} + LANES - 2, LANES) / LANES | 1) * LANES; }

/* The number of elements of a layer's rows: [RELATIVE_WIDTH][row_stride]. */
INLINE size_t ${name}_row_elements(${length_parameters}) { return (size_t)${name}_row_stride(${T_S}) * ${PREFIX}RELATIVE_WIDTH; }

/* The signed distance of row x in a set of distances. */
INLINE int ${name}_distance(const lh_cpu_step *step, int set, int x) {
    const int32_t *drawn = ((const shared *)step->shared)->${prefix}distance[set]${to_zero_distance};
    return ${distance};
}

% section("end_sums")
for (int l = 0; l < ${stack.count}; l++) end_${name}_relative(step, l, sums, &g->${stack.member}[l]);
make_${name}_relative(step, d); % section("after_distances")
% section("begin") % if not positions.distance.draws
for (int l = part; l < ${stack.count}; l += parts)
    make_${name}_relative(step, l);
