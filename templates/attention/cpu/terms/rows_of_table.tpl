% -- Vectors of distances, copied from the rows of a learned table.
% section("logits")
clear_columns(N, sum);
UNROLL
for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
    UNROLL
    for (int u = 0; u < N; u++)
        sum[u] += group->query[d] * (key[u * ${K} + d] + load(group->rows + d * group->stride - j - u));
}
% section("tables")
% include("attention/cpu/table_row.tpl")

/* The memory behind `struct shared`; its size depends on lengths: ${rows.table_words}. */
INLINE real *${name}_rows(const lh_cpu_step *step, int l) {
    real *rows = (real *)((char *)step->shared + ${name}_start(&step->shape));
    return rows + (size_t)l * ${name}_row_elements(${step_lengths});
}

static size_t ${name}_relative_bytes(${length_parameters}) {
    return ${stack.count} * ${name}_row_elements(${T_S}) * sizeof(real);
}

% section("step_functions")
% local layers_share_set = rows.set_count == 1 -- whether all layers have the same distances
% local set_index = layers_share_set and "0" or "l"
/* Makes the rows of distances of layer l. */
static void make_${name}_${layers_share_set and "rows" or "relative"}(const lh_cpu_step *step, int l) {
    const parameters *p = step->parameters;
    const int T = step->shape.length[${queries.stream}], S = step->shape.length[${keys.stream}];
    int stride = ${name}_row_stride(${T_S});
    real *rows = ${name}_rows(step, l);
    memset(rows, 0, ${name}_row_elements(${T_S}) * sizeof(real));
    for (int x = 0; x < ${name}_distance_count(${T_S}); x++) {
        int index = ${name}_table_row(${name}_distance(step, ${set_index}, x));
        const real *row = p->${stack.member}[l].${prefix}relative_table + index * ${PREFIX}HEAD_WIDTH;
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) rows[d * stride + x] = row[d];
    }
}
% if layers_share_set then

/* Makes the rows of distances of all layers, which share set 0. */
static void make_${name}_relative(const lh_cpu_step *step, int set) {
    for (int l = 0; l < ${stack.count}; l++) make_${name}_rows(step, l);
}
% end

% section("end_functions")
/* Adds the gradients of layer l's rows to the gradient of its table. */
static void end_${name}_relative(const lh_cpu_step *step, int l, const ${name}_sums *sums, ${stack.parameters} *g) {
    for (int x = 0; x < ${name}_distance_count(${step_lengths}); x++) {
        int row = ${name}_table_row(${name}_distance(step, ${rows.set_of_layer}, x));
        const real *sum = sums->rows[l] + x * ${PREFIX}HEAD_WIDTH;
        real *to = g->${prefix}relative_table + row * ${PREFIX}HEAD_WIDTH;
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) to[d] += sum[d];
    }
}

