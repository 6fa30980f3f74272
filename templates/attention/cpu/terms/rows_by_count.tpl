% -- Terms of counts. The gate of a pair is the sigmoid of its logit. For a query, the count of a key is the sum of the gates
% -- of the keys from this key to the query.
% -- Each whole number has a vector. The product of the query with the vector of the count is added to the score;
% -- between whole numbers, products are interpolated.
% section("constants")
% local format_real = precision == "float64" and f64 or f32
enum {
    ${PREFIX}COUNT_ROWS = ${rows.rows}, /* number of vectors of a layer: one for each count from 0 to COUNT_ROWS - 1 */
    ${PREFIX}PRODUCTS = (${PREFIX}COUNT_ROWS + ${PREFIX}KEYS) / ${PREFIX}KEYS * ${PREFIX}KEYS /* rows of a group's products: one for each vector and one after the last, rounded up to a multiple of KEYS */
};
static const real ${PREFIX}COUNT_FACTOR = ${format_real(rows.factor)}; /* sqrt(${PREFIX}HEAD_WIDTH): removes LOGIT_SCALE from products of scaled queries with the table */ % if rows.factor
% section("members")
const real *count_table; /* [${PREFIX}COUNT_ROWS][${PREFIX}HEAD_WIDTH] */
real *products, *gates, *counts; /* workspaces of ${name}_scratch */
real *dcount_table; /* the gradient of count_table; the head adds to it */
% section("head")
head.count_table = ((const parameters *)w->step->parameters)->${stack.member}[l].${prefix}count_table;
head.products = w->${name}.products;
head.gates = w->${name}.gates;
head.counts = w->${name}.counts;
head->dcount_table = w->sums.${name}.tables[l]; % section("head_grad")
dot_rows(${PREFIX}HEAD_WIDTH, N, group->query, ${K}, key, sum); % section("logits")
${inner} + look_up_count(head->products, load(head->counts + j * LANES)) % section("score")
% section("forward")
% local times_factor = rows.factor and " * " .. PREFIX .. "COUNT_FACTOR" or ""
/* Writes the products [PRODUCTS][LANES] of a group's queries and the vectors of counts. Counts are at most `to`, and
 * interpolation also reads the next vector. */
INLINE void multiply_${name}_table(const ${name}_head *head, const ${name}_queries *group, int to) {
    const int rows = to + 2 < ${PREFIX}COUNT_ROWS ? to + 2 : ${PREFIX}COUNT_ROWS;
    for (int n = 0; n < rows; n++)
        store(head->products + n * LANES, dot_row(${PREFIX}HEAD_WIDTH, group->query, head->count_table + n * ${PREFIX}HEAD_WIDTH)${times_factor});
    store(head->products + rows * LANES, load(head->products + (rows - 1) * LANES)); /* a copy of the last row, which interpolation reads with factor 0 */
}

/* Writes the logits of a group with keys from..to - 1, and then, from the last key to the first, their gates and
 * counts. logits: [keys][LANES], may be head->gates. */
INLINE void count_${name}_keys(const ${name}_head *head, const ${name}_queries *group, const real *restrict key,
        int from, int to, real *logits) {
    int j = from;
    % include("attention/cpu/write_logits.tpl")
    vector sum = {0};
    for (j = to - 1; j >= from; j--) {
        vector gate = sigmoid_of(load(logits + j * LANES));
        if (j > group->first) gate = keep_where(${inline("visible", false)}, gate);
        sum = count_key(sum, ${PREFIX}COUNT_ROWS - 1, gate, head->gates + j * LANES, head->counts + j * LANES);
    }
    multiply_${name}_table(head, group, to);
}

count_${name}_keys(head, &queries, key, ${from}, ${to}, ${logits}); % section("scan")
% section("queries_begin")
real *dproducts = scratch->dproducts;
% section("scan_back")
count_${name}_keys(head, &queries, key, ${from}, ${to}, head->gates);
memset(dproducts, 0, ${PREFIX}PRODUCTS * LANES * sizeof(real));
vector dgate = {0}; /* the gradient of a gate: the sum of the gradients of the counts that contain the gate */
% section("pair_back")
vector gate = load(head->gates + j * LANES);
dgate += look_up_count_grad(head->products, dproducts, load(head->counts + j * LANES), dscore);
vector dlogit = dscore + dgate * gate * (1 - gate);
% section("gathered")
for (int n = 0; n < ${PREFIX}COUNT_ROWS; n++) {
    store(dproducts + n * LANES, load(dproducts + n * LANES) * ${PREFIX}COUNT_FACTOR); % if rows.factor
    vector dproduct = load(dproducts + n * LANES);
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) dq[d] += dproduct * head->count_table[n * ${PREFIX}HEAD_WIDTH + d];
}
dproducts += ${PREFIX}PRODUCTS * LANES;
% section("queries_grad")

/* Adds a head's gradients of KEYS vectors of counts, from row n on, to head->dcount_table. Lanes are channels here. */
INLINE void add_${name}_count_rows(const ${name}_head *head, int n, const ${name}_scratch *scratch) {
    const int T = head->T;
    ${name}_part sum[${PREFIX}KEYS][${PREFIX}HEAD_PARTS];
    real *table = head->dcount_table + n * ${PREFIX}HEAD_WIDTH;
    UNROLL
    for (int u = 0; u < ${PREFIX}KEYS; u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++)
            sum[u][part] = *(const ${name}_part *)(table + u * ${PREFIX}HEAD_WIDTH + part * ${PREFIX}HEAD_PART);
    }
    % include("attention/cpu/groups_begin.tpl", { rows = "rows", vectors = 2 })
        const int before = first < head->first_query ? head->first_query - first : 0;
        const int count = ${to_query} - first < LANES ? ${to_query} - first : LANES;
        const real *dproduct = scratch->dproducts + (group * ${PREFIX}PRODUCTS + n) * LANES;
        if (n > first + LANES + 1) { /* no count of these queries reaches this row */
            row += ${has_query_bounds and "(count - before)" or "count"} * 2 * ${PREFIX}HEAD_WIDTH;
            continue;
        }
        for (int i = ${has_query_bounds and "before" or "0"}; i < count; i++, row += 2 * ${PREFIX}HEAD_WIDTH) {
            UNROLL
            for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) {
                ${name}_part q = *(const ${name}_part *)(row + ${PREFIX}HEAD_WIDTH + part * ${PREFIX}HEAD_PART);
                UNROLL
                for (int u = 0; u < ${PREFIX}KEYS; u++) sum[u][part] += q * dproduct[u * LANES + i];
            }
        }
    }
    for (int u = 0; u < ${PREFIX}KEYS && n + u < ${PREFIX}COUNT_ROWS; u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++)
            *(${name}_part *)(table + u * ${PREFIX}HEAD_WIDTH + part * ${PREFIX}HEAD_PART) = sum[u][part];
    }
}
% section("rows_back")
for (int n = 0; n < ${PREFIX}COUNT_ROWS; n += ${PREFIX}KEYS) add_${name}_count_rows(head, n, scratch);
% section("rows_back_of_block")
for (int n = 0; n < ${PREFIX}COUNT_ROWS; n += ${PREFIX}KEYS) add_${name}_count_rows(&block, n, scratch);
% section("scratch")
real *products; /* [PRODUCTS][LANES] products of a group's queries and the vectors of counts */
real *gates, *counts; /* [keys][LANES] of a group */
real *dproducts; /* [groups][PRODUCTS][LANES] gradients of the products, without factors that depend on the query alone */
% section("lay_out_scratch")
scratch->products = reserve(memory, used, (${PREFIX}COUNT_ROWS + 1) * LANES * sizeof(real));
scratch->gates = reserve(memory, used, (size_t)T * LANES * sizeof(real));
scratch->counts = reserve(memory, used, (size_t)T * LANES * sizeof(real));
% section("lay_out_training")
scratch->dproducts = reserve(memory, used, groups * ${PREFIX}PRODUCTS * LANES * sizeof(real));
% section("sums")
real *tables[${stack.count}]; /* [PRODUCTS][HEAD_WIDTH] gradients of the vectors of counts */
% section("lay_out_sums")
for (int l = 0; l < ${stack.count}; l++)
    sums->tables[l] = reserve(memory, used, ${PREFIX}PRODUCTS * ${PREFIX}HEAD_WIDTH * sizeof(real));
% section("end_sums")
for (int l = 0; l < ${stack.count}; l++)
    for (int e = 0; e < ${PREFIX}COUNT_ROWS * ${PREFIX}HEAD_WIDTH; e++)
        g->${stack.member}[l].${prefix}count_table[e] += sums->tables[l][e];
