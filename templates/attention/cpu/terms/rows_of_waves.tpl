% -- Rows of distances that are linear maps of sinusoids.
% -- slice_offset: C text of the offset of the first sinusoid that the step reads; only longer sequences read earlier ones
% local slice_offset = slices and " + get_slice(step, " .. keys.stream .. ") * WIDTH" or ""
% section("queries")
vector content[${PREFIX}HEAD_WIDTH], position[${PREFIX}HEAD_WIDTH]; /* each with its bias, times ${PREFIX}LOGIT_SCALE */
% section("load")
UNROLL
for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
    group->position[d] = group->content[d] + head->position_bias[d] * ${PREFIX}LOGIT_SCALE;
    group->content[d] += head->content_bias[d] * ${PREFIX}LOGIT_SCALE;
}
% section("logits_begin")
vector distance_terms[SIDE_BY_SIDE]; /* terms of distances, summed apart from the products with keys */
% section("logits")
dot_rows(${PREFIX}HEAD_WIDTH, N, group->content, ${K}, key, sum);
UNROLL
for (int u = 0; u < N; u++) distance_terms[u] = group->position[0] * load(group->rows - j - u);
UNROLL
for (int d = 1; d < ${PREFIX}HEAD_WIDTH; d++) {
    UNROLL
    for (int u = 0; u < N; u++) distance_terms[u] += group->position[d] * load(group->rows + d * group->stride - j - u);
}
UNROLL
for (int u = 0; u < N; u++) sum[u] += distance_terms[u];
% section("tables")
enum { ${PREFIX}RELATIVE_SETS = ${rows.set_count} }; /* number of sets of distances in one pass${rows.sets_words} */

/* The number of elements of the sinusoids of a set's distances: [rows rounded up to a multiple of TILE_ROWS][WIDTH]. */
INLINE size_t ${name}_sinusoid_elements(${length_parameters}) {
    return (size_t)round_up(${name}_distance_count(${T_S}), TILE_ROWS) * WIDTH;
}

/* The memory behind `struct shared`; its size depends on lengths: ${rows.table_words}. */
INLINE real *${name}_sinusoids(const lh_cpu_step *step, int set) {
    real *sinusoids = (real *)((char *)step->shared + ${name}_start(${tables_shape}));
    return sinusoids + (size_t)set * ${name}_sinusoid_elements(${table_lengths});
}
INLINE real *${name}_rows(const lh_cpu_step *step, int l) {
    return ${name}_sinusoids(step, ${PREFIX}RELATIVE_SETS) + (size_t)l * ${name}_row_elements(${table_lengths});
}
/* Workspace: the rows of layer l before they are stored channel by channel. */
INLINE real *${name}_product(const lh_cpu_step *step, int l) {
    return ${name}_rows(step, ${stack.count}) + (size_t)l * ${name}_sinusoid_elements(${table_lengths});
}

static size_t ${name}_relative_bytes(${length_parameters}) {
    return ((${PREFIX}RELATIVE_SETS + ${stack.count}) * ${name}_sinusoid_elements(${T_S}) + ${stack.count} * ${name}_row_elements(${T_S})) * sizeof(real);
}

% section("step_functions")
/* Makes the sinusoids of a set's distances; returns the number of distances. */
static int make_${name}_sinusoids(const lh_cpu_step *step, int set) {
    int count = ${name}_distance_count(${step_lengths});
    real *sinusoids = ${name}_sinusoids(step, set);
    for (int x = 0; x < count; x++) write_signed_sinusoid(step->tables, ${name}_distance(step, set, x), sinusoids + x * WIDTH);
    return count;
}

/* Multiplies sinusoids by a layer's packed weight; y [rows][WIDTH]: the rows of distances. */
NOINLINE void to_${name}_relative(int rows, const real *sinusoids, const real *panels, real *y) {
    matmul(rows, WIDTH, WIDTH, sinusoids, panels, y, FINISH_STORE, NULL);
}

/* Makes layer l's rows of distances, channel by channel, from the sinusoids. */
static void make_${name}_rows(const lh_cpu_step *step, int l, int count, const real *sinusoids) {
    const parameters *p = step->parameters;
    real *panels = ((shared *)step->shared)->${stack.member}[l].${prefix}relative;
    pack_weights(WIDTH, WIDTH, p->${stack.member}[l].${prefix}relative, panels);
    real *product = ${name}_product(step, l), *rows = ${name}_rows(step, l);
    int stride = ${name}_row_stride(${step_lengths});
    to_${name}_relative(count, sinusoids, panels, product);
    for (int c = 0; c < WIDTH; c++) {
        for (int x = 0; x < count; x++) rows[c * stride + x] = product[x * WIDTH + c];
        for (int x = count; x < stride; x++) rows[c * stride + x] = 0;
    }
}

/* Makes the rows of distances of all layers that share a set of distances. */
static void make_${name}_relative(const lh_cpu_step *step, int set) {
    int count = make_${name}_sinusoids(step, set);
% local every_layer = rows.set_count == 1 and ("for (int l = 0; l < %s; l++) "):format(stack.count) or ""
% local l = rows.set_count == 1 and "l" or "set"
    ${every_layer}make_${name}_rows(step, ${l}, count, ${name}_sinusoids(step, set));
}

% section("end_functions")
NOINLINE void ${name}_relative_weight_grad(int rows, const real *sinusoids, const real *drows, real *dw) {
    matmul_weight_grad(rows, WIDTH, WIDTH, sinusoids, drows, dw);
}

/* Adds the gradients of layer l's weight of distances, and of its biases. */
static void end_${name}_relative(const lh_cpu_step *step, int l, const ${name}_sums *sums, ${stack.parameters} *g) {
    int count = ${name}_distance_count(${step_lengths});
    ${name}_relative_weight_grad(count, ${name}_sinusoids(step, ${rows.set_of_layer})${slice_offset}, sums->rows[l], g->${prefix}relative);
    % slot("end_biases")
}

