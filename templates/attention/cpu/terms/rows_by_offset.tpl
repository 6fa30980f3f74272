% section("members")
const real *rows; /* the vectors of distances */
int stride; /* from one channel of the rows to the next */
% if rows.biases then
% include("attention/cpu/bias_members.tpl")
% end
real *drows; /* [rows], RELATIVE_WIDTH apart */
% section("head")
head.stride = ${name}_row_stride(${cross and "head.T, head.S" or "head.T"});
% if rows.biases then
head.rows = ${name}_rows(w->step, l) + h * ${PREFIX}HEAD_WIDTH * head.stride;
% include("attention/cpu/bias_head.tpl")
% else
head.rows = ${name}_rows(w->step, l);
% end
% section("head_grad")
% if rows.biases then
head->drows = w->sums.${name}.rows[l] + h * ${PREFIX}HEAD_WIDTH;
head->dbiases = w->sums.${name}.biases[l] + h * 2 * ${PREFIX}HEAD_WIDTH * LANES;
% else
head->drows = w->sums.${name}.rows[l];
% end
% section("queries")
% if rows.biases then
vector content[${PREFIX}HEAD_WIDTH], position[${PREFIX}HEAD_WIDTH]; /* each with its bias, times ${PREFIX}LOGIT_SCALE */
% end
const real *rows; /* the first query's with key 0 */
int stride;
% section("load")
% if rows.biases then
UNROLL
for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
    group->position[d] = group->content[d] + head->position_bias[d] * ${PREFIX}LOGIT_SCALE;
    group->content[d] += head->content_bias[d] * ${PREFIX}LOGIT_SCALE;
}
% end
group->rows = head->rows + first + head->${S} - 1;
group->stride = head->stride;
% section("logits_room")
% if rows.biases then
vector far[SIDE_BY_SIDE]; /* chains of their own, so that they do not wait for the others */
% end
% section("logits")
% if rows.biases then
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
% else
UNROLL
for (int u = 0; u < N; u++) sum[u] = (vector){0};
UNROLL
for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
    UNROLL
    for (int u = 0; u < N; u++)
        sum[u] += group->query[d] * (key[u * ${K} + d] + load(group->rows + d * group->stride - j - u));
}
% end
% section("queries_grad")

% local target = rows.biases and "dposition" or "dq"
% include("attention/cpu/rows_queries_words.tpl")
% define("INLINE void " .. name .. "_relative_queries", "const " .. name .. "_head *head", "int first", terms.spans and "int begin, int end", "const real *restrict dlogits", "vector inverse", "vector *dq")
    % include("attention/cpu/some_lengths.tpl", { of_T = rows.biases or not cross, of_S = cross })
% if rows.biases then
    vector dposition[${PREFIX}HEAD_WIDTH];
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) dposition[d] = (vector){0};
% end
    const real *rows = head->rows + first + ${S} - 1;
    for (int j = ${from_key}; j < ${to_key}; j++) {
        vector dlogit = load(dlogits + j * LANES);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) ${target}[d] += dlogit * load(rows + d * head->stride - j);
    }
% if rows.biases then
    vector factor = keep_where(lanes_before(T - first), inverse * ${PREFIX}LOGIT_SCALE);
    % include("attention/cpu/bias_sums.tpl")
% end
}

% if terms.spans then
/* Adds the gradients of KEYS rows, from row x on; lanes are channels. Row x is that of query i and key i + ${S} - 1 - x;
 * dlogits has KEYS zeros on both sides of the keys that a group of queries sees. */
% else
/* Adds the gradients of KEYS rows, from row x on; lanes are channels. Row x is that of query i and key i + ${S} - 1 - x;
 * pairs of which the key does not exist have zeros in dlogits. */
% end
% define("INLINE void " .. name .. "_relative_rows_grad", "const " .. name .. "_head *head", length_words, "int x", "const " .. name .. "_scratch *scratch", "real *restrict drows")
    ${name}_part dr[${PREFIX}KEYS][${PREFIX}HEAD_PARTS];
    UNROLL
    for (int u = 0; u < ${PREFIX}KEYS; u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) dr[u][part] = (${name}_part){0};
    }
    int key = ${S} - 1 - x, i = key < 0 ? -key : 0, behind = ${S} - key + ${PREFIX}KEYS - 1, end = behind < T ? behind : T;
% if bounded then
    const int first_group = ${name}_first_group(head);
    if (i < head->first_query) i = head->first_query;
    if (end > head->end_query) end = head->end_query;
% end
    while (i < end) {
        int first = i / LANES * LANES, stop = first + LANES < end ? first + LANES : end;
        const real *dlogits =
                scratch->dlogits + ${PREFIX}KEYS * LANES + ${bounded and "(first - first_group)" or "first"} / LANES * ${name}_group_dlogits(${S}) - first;
% if terms.spans then
        int from, to;
        ${name}_span(head, first, &from, &to);
        const int seen = to - key + ${PREFIX}KEYS - 1; /* what is behind it has none of these keys */
        if (i < from - key) i = from - key;
        for (; i < stop && i < seen; i++) {
% else
        for (; i < stop; i++) {
% end
            const real *row = scratch->rows + i * ${rows.vectors} * ${PREFIX}HEAD_WIDTH + ${rows.biases and "2 * " or ""}${PREFIX}HEAD_WIDTH;
            const real *dlogit = dlogits + (i + key) * LANES + i;
            UNROLL
            for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) {
                ${name}_part q = *(const ${name}_part *)(row + part * ${PREFIX}HEAD_PART);
                UNROLL
                for (int u = 0; u < ${PREFIX}KEYS; u++) dr[u][part] += q * dlogit[-u * LANES];
            }
        }
% if terms.spans then
        i = stop;
% end
    }
    for (int u = 0; u < ${PREFIX}KEYS && x + u < ${name}_distance_count(${T_S}); u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++)
            *(${name}_part *)(drows + (x + u) * ${PREFIX}RELATIVE_WIDTH + part * ${PREFIX}HEAD_PART) += dr[u][part];
    }
}
% section("queries_begin")
% if not terms.spans then
memset(scratch->dlogits, 0, ${PREFIX}KEYS * LANES * sizeof(real));
% end
% section("queries_back")
% if terms.spans then
memset(dlogits + (begin - ${PREFIX}KEYS) * LANES, 0, ${PREFIX}KEYS * LANES * sizeof(real));
% end
memset(dlogits + ${to_key} * LANES, 0, ${PREFIX}KEYS * LANES * sizeof(real));
% call(name .. "_relative_queries", "head", "first", terms.spans and "begin, end", "dlogits", "inverse", "dq")
% section("rows_back")
% local grad = invoke(name .. "_relative_rows_grad", "head", T_S, "x", "scratch", "head->drows")
for (int x = 0; x < ${name}_distance_count(${T_S}); x += ${PREFIX}KEYS) ${grad};
% section("rows_back_of_block")
for (int x = block.first_query / ${PREFIX}KEYS * ${PREFIX}KEYS; x < block.end_query + T - 1; x += ${PREFIX}KEYS)
    ${name}_relative_rows_grad(&block, T, x, scratch, head->drows);
% section("sums")
real *rows[${stack.count}]; /* [rows][RELATIVE_WIDTH] gradients of the rows of distances */
% if rows.biases then
% include("attention/cpu/bias_sums_members.tpl")
% end
% section("sums_room")
size_t rows = (size_t)${name}_distance_count(${T_S});
for (int l = 0; l < ${stack.count}; l++) {
    sums->rows[l] = take(memory, used, rows * ${PREFIX}RELATIVE_WIDTH * sizeof(real));
% if rows.biases then
    sums->biases[l] = take(memory, used, 2 * WIDTH * LANES * sizeof(real));
% end
}
% section("tables")
% include("attention/cpu/offset_tables.tpl")

% section("step_functions")
% if rows.biases then
% include("attention/cpu/offset_products.tpl")
% else
% include("attention/cpu/offset_rows.tpl")
% end

% section("end_functions")
% if rows.biases then
NOINLINE void ${name}_relative_weight_grad(int rows, const real *codes, const real *drows, real *dw) {
    matmul_weight_grad(rows, WIDTH, WIDTH, codes, drows, dw);
}

static void end_${name}_relative(const lh_cpu_step *step, int l, const ${name}_sums *sums, ${stack.parameters} *g) {
    const int set = ${PREFIX}RELATIVE_SETS > 1 ? l : 0;
    int count = ${name}_distance_count(${of_step});
    ${name}_relative_weight_grad(count, ${name}_codes(step, set), sums->rows[l], g->${prefix}relative);
    % include("attention/cpu/bias_sums_end.tpl")
}
% else
% local distance = invoke(name .. "_distance", "step", PREFIX .. "RELATIVE_SETS > 1 ? l : 0", "x")
static void end_${name}_relative(const lh_cpu_step *step, int l, const ${name}_sums *sums, ${stack.parameters} *g) {
    for (int x = 0; x < ${name}_distance_count(${of_step}); x++) {
        int row = ${name}_table_row(${distance});
        const real *sum = sums->rows[l] + x * ${PREFIX}HEAD_WIDTH;
        real *to = g->${prefix}relative_table + row * ${PREFIX}HEAD_WIDTH;
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) to[d] += sum[d];
    }
}
% end

% section("end_sums")
for (int l = 0; l < ${stack.count}; l++) end_${name}_relative(step, l, sums, &g->${stack.member}[l]);
% section("after_distances")
% call("make_" .. name .. "_relative", "step", "d")
% section("begin")
% if not positions.distance.draws then
for (int l = part; l < ${stack.count}; l += parts)
    % call("make_" .. name .. "_relative", "step", "l")
% end
