% -- Terms of counts. A key's count is the sum of the gates of all keys from this key to the query. The vector of a count
% -- is interpolated between two rows of the table. Its product with the query is added to the key's score.
% section("constants")
% local format_real = precision == "float64" and f64 or f32
#define ${PREFIX}COUNT_FACTOR ${format_real(rows.factor)} /* sqrt(${PREFIX}HEAD_WIDTH): cancels LOGIT_SCALE in gradients, since products with the table are not scaled */ % if rows.factor
% section("work")
enum { ${PREFIX}COUNT_ROWS = ${rows.rows} }; /* number of vectors of a layer: one for each count from 0 to COUNT_ROWS - 1 */

% section("members")
const real *count_table; /* [${PREFIX}COUNT_ROWS][${PREFIX}HEAD_WIDTH] */
a.count_table = v->p->${attends.block}[l].${prefix}count_table${attends.channel}; % section("set_members")
% section("visit_keys")
% local scale = not rows.factor and " * " .. PREFIX .. "LOGIT_SCALE" or ""
/* The scaled product of the query with a row of the table. Rows beyond the table are replaced by the last row. */
INLINE real ${prefix}multiply_row(const ${prefix}head *a, const real query[${attends.head_part}], int row) {
    real x[${attends.head_part}];
    ${prefix}load_head(x, a->count_table + (row < ${PREFIX}COUNT_ROWS ? row : ${PREFIX}COUNT_ROWS - 1) * ${PREFIX}HEAD_WIDTH);
    return ${prefix}dot_head(query, x)${scale};
}

/* A query's count for its keys so far, with the query's products with the two rows next to the count. */
typedef struct ${prefix}counter {
    real count, low, high; /* low: the product with the row at or below the count; high: with the row after it */
    int row; /* index of the row of `low` */
} ${prefix}counter;

INLINE ${prefix}counter ${prefix}begin_count(const ${prefix}head *a, const real query[${attends.head_part}]) {
    const ${prefix}counter c = {0, ${prefix}multiply_row(a, query, 0), ${prefix}multiply_row(a, query, 1), 0};
    return c;
}

/* Adds a key's gate, the sigmoid of its logit, to the count. The count is limited to the index of the last row.
 * Returns the key's score. */
INLINE real ${prefix}count_key(const ${prefix}head *a, const real query[${attends.head_part}], real logit,
        ${prefix}counter *c) {
    c->count = minimum_real(c->count + sigmoid_real(logit), ${PREFIX}COUNT_ROWS - 1);
    while (c->row + 1 <= c->count) {
        c->row++;
        c->low = c->high;
        c->high = ${prefix}multiply_row(a, query, c->row + 1);
    }
    return logit + (c->low + (c->count - c->row) * (c->high - c->low));
}

enum { ${PREFIX}KEYS = ${attends.keys_at_once} }; /* number of keys whose logits are computed at the same time */

/* The softmax of a query over the keys so far. Exponentials are relative to the largest score. */
typedef struct ${prefix}softmax {
    real largest, sum, out[${attends.head_part}];
} ${prefix}softmax;

/* Adds `count` keys to the softmax m: key j and the keys to its left. Computes their logits at the same time. */
INLINE void ${prefix}add_keys(const int count, const ${prefix}head *a, const real query[${attends.head_part}], int i, int j,
        ${prefix}counter *c, ${prefix}softmax *m) {
    real score[${PREFIX}KEYS], highest = m->largest;
#pragma unroll
    for (int u = 0; u < count; u++) score[u] = ${prefix}pair_logit(a, query, j - u);
#pragma unroll
    for (int u = 0; u < count; u++) {
        score[u] = ${prefix}count_key(a, query, score[u], c);
        highest = score[u] > highest ? score[u] : highest;
    }
% include("attention/cuda/add_weights.tpl", { key = "j - u" })
}

% section("visit_leftwards")
${prefix}counter c = ${prefix}begin_count(&a, query);
${prefix}softmax m = {(real)-1e30, 0, {}};
int j = i;
for (; j + 1 >= ${PREFIX}KEYS; j -= ${PREFIX}KEYS) ${prefix}add_keys(${PREFIX}KEYS, &a, query, i, j, &c, &m);
for (; j >= 0; j--) ${prefix}add_keys(1, &a, query, i, j, &c, &m);
${prefix}store_head(m.out, 1 / m.sum, out);
${attends.if_first_lane}s->${prefix}largest[task] = m.largest; % if not decodes
${attends.if_first_lane}s->${prefix}inverse_sum[task] = 1 / m.sum; % if not decodes
, and stores the values of the softmax that the backward pass needs % section("stored_words")
% section("backward_functions")

/* Adds a row's part of the query's gradient to dquery. Stores dproduct for attend_rows.
 * dproduct: the gradient of the query's product with the row */
INLINE void ${prefix}end_row(const ${prefix}head *a, int row, real dproduct, real *dproducts, real *dquery) {
    real x[${attends.head_part}];
    if (row == ${PREFIX}COUNT_ROWS) return;
    dproduct *= ${PREFIX}COUNT_FACTOR; % if rows.factor
    ${prefix}load_head(x, a->count_table + row * ${PREFIX}HEAD_WIDTH);
    ${prefix}add_head(dquery, dproduct, x);
    ${attends.if_first_lane}dproducts[(size_t)row * a->T] = dproduct;
}
% section("store_pairs")
real out[${attends.head_part}];
${prefix}load_head(out, s->${attends.out} + offset_of_row);
const real delta = ${prefix}dot_head(dout, out), largest = s->${prefix}largest[task], inverse = s->${prefix}inverse_sum[task];
${prefix}counter c = ${prefix}begin_count(&a, query);
for (int j = i; j >= 0; j--) {
    const size_t place = (size_t)(i - j) * T + i;
    const real score = ${prefix}count_key(&a, query, ${prefix}pair_logit(&a, query, j), &c);
    weights[place] = exp_negative(score - largest) * inverse;
    pairs[place] = c.count;
}
real *dproducts = w->${prefix}dproducts + head_index * ${PREFIX}COUNT_ROWS * T + i;
for (int n = c.row + 2; n < ${PREFIX}COUNT_ROWS && n <= i + 1; n++) ${attends.if_first_lane}dproducts[(size_t)n * T] = 0;
real dlow = 0, dhigh = 0;
real dgate = 0; /* the gradient of the key's gate: a sum over the counts that contain the gate */
% section("visit_pair")
% local dot_head = prefix .. "dot_head(dout, value)"
const real weight = weights[place], count = pairs[place];
for (; count < c.row; c.row--) {
    ${prefix}end_row(&a, c.row + 1, dhigh, dproducts, dquery);
    c.high = c.low;
    c.low = ${prefix}multiply_row(&a, query, c.row - 1);
    dhigh = dlow;
    dlow = 0;
}
const real share = count - c.row, gate = sigmoid_real(${prefix}dot_head(query, key) * ${PREFIX}LOGIT_SCALE);
% slot("keep")
const real dscore = weight * (${inline("gradient_of_weight", dot_head)} - delta);
dlow += (1 - share) * dscore;
dhigh += share * dscore;
if (share > 0) dgate += dscore * (c.high - c.low); /* share is 0 where the count is limited to the last row */
const real dlogit = dscore + dgate * gate * (1 - gate);
weights[place] = ${inline("weight_of_value", "weight")}; % section("keep_weight") % if terms.drops_weights
% section("end_pairs")
${prefix}end_row(&a, c.row + 1, dhigh, dproducts, dquery);
${prefix}end_row(&a, c.row, dlow, dproducts, dquery);
while (c.row-- > 0) ${attends.if_first_lane}dproducts[(size_t)c.row * T] = 0;
% section("row_gradients")

/* Sums the gradients of the table over the queries of `count` sequences, from `first` on. A thread computes four
 * channels of a row. */
NOINLINE void ${prefix}attend_rows(int first, int count, ${attends.gradients_type} *g) {
    % include("attention/cuda/opening.tpl")
    assume_global(g);
    const int T = v->${attends.T};
    for (int e = 4 * threadIdx.x; e < ${PREFIX}COUNT_ROWS * ${PREFIX}HEAD_WIDTH; e += 4 * THREADS) {
        /* nearest: the first query that can use the row. The count of query i is at most i + 1. */
        const int row = e / ${PREFIX}HEAD_WIDTH, nearest = row > 0 ? row - 1 : 0;
        quad sum = {{0, 0, 0, 0}};
        if (first > 0) sum = *(const quad *)(g->${prefix}count_table + e);
        for (int head = 0; head < count * ${PREFIX}HEADS; head++) {
            const int sequence = first + head / ${PREFIX}HEADS;
            const real *query = s->${attends.q} + (size_t)sequence * T * ${PREFIX}QUERY_STRIDE + head % ${PREFIX}HEADS * ${PREFIX}HEAD_WIDTH + e % ${PREFIX}HEAD_WIDTH;
            const real *dproduct = w->${prefix}dproducts + ((size_t)head * ${PREFIX}COUNT_ROWS + row) * T;
#pragma unroll 4
            for (int i = nearest; i < T; i++) {
                const quad x = *(const quad *)(query + i * ${PREFIX}QUERY_STRIDE);
                const real factor = dproduct[i] * ${PREFIX}LOGIT_SCALE;
#pragma unroll
                for (int u = 0; u < 4; u++) sum.v[u] += factor * x.v[u];
            }
        }
        *(quad *)(g->${prefix}count_table + e) = sum;
    }
    __syncthreads();
}
${prefix}attend_rows(${first}, ${count}, g); % section("after_keys_of_pairs")
