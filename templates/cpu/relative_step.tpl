% local per_distance = relative.kind == "transformer_xl"
% local T_S = cross and "T, S" or "T"
% local of_step = ("step->shape.length[%d]"):format(queries.stream) .. (cross and (", step->shape.length[%d]"):format(keys.stream) or "")
% if per_distance then
% if relative.toeplitz then
static int make_${name}_codes(const lh_cpu_step *step, int set) {
    int count = ${name}_distance_count(${of_step});
    real *codes = ${name}_codes(step, set);
    for (int x = 0; x < count; x++) signed_sinusoid(step->tables, ${name}_distance(step, set, x), codes + x * WIDTH);
    return count;
}
% else
% local S, key_position = cross and "S" or "T", cross and "key_position" or "position"
/* Numbers the distances that occur in the set's draw; their sinusoids. */
static int make_${name}_codes(const lh_cpu_step *step, int set) {
    shared *s = step->shared;
    const int l = set;
    const int32_t *position = s->${prefix}position[${positions.layer_index}];
% if cross then
    const int32_t *key_position = s->${prefix}key_position[${positions.layer_index}];
% end
    int32_t *row = s->${prefix}relative_row[set];
% if cross then
    int T = step->shape.length[${queries.stream}], S = step->shape.length[${keys.stream}], count = 0;
% else
    int T = step->shape.length[${queries.stream}], count = 0;
% end
    real *codes = ${name}_codes(step, set);
    (void)l;
    memset(row, 0, (2 * ${PREFIX}MAX_POSITION - 1) * sizeof *row);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < ${S}; j++) row[${key_position}[j] - position[i] + ${PREFIX}MAX_POSITION - 1] = 1;
    for (int d = 0; d < 2 * ${PREFIX}MAX_POSITION - 1; d++) {
        if (!row[d]) continue;
        signed_sinusoid(step->tables, d - (${PREFIX}MAX_POSITION - 1), codes + count * WIDTH);
        row[d] = count++;
    }
    s->${prefix}relative_count[set] = count;
    int32_t *offset = ${name}_offsets(step, set);
    for (int j = 0; j < ${S}; j++)
        for (int i = 0; i < round_up(T, LANES); i++)
            *offset++ = ${PREFIX}RELATIVE_WIDTH
                    * row[${key_position}[j] - position[i < T ? i : T - 1] + ${PREFIX}MAX_POSITION - 1];
% if ranged then
    for (int i = 0; i < LANES; i++) *offset++ = 0;
% end
    return count;
}
% end

NOINLINE void to_${name}_relative(int rows, const real *codes, const real *panels, real *y) {
    matmul(rows, WIDTH, WIDTH, codes, panels, y, FINISH_STORE, NULL);
}

static void make_${name}_rows(const lh_cpu_step *step, int l, int count, const real *codes) {
    const parameters *p = step->parameters;
    real *panels = ((shared *)step->shared)->${stack.member}[l].${prefix}relative;
    pack_weights(WIDTH, WIDTH, p->${stack.member}[l].${prefix}relative, panels);
% if relative.toeplitz then
    real *product = ${name}_product(step, l), *rows = ${name}_rows(step, l);
    int stride = ${name}_row_stride(${of_step});
    to_${name}_relative(count, codes, panels, product);
    for (int c = 0; c < WIDTH; c++) {
        for (int x = 0; x < count; x++) rows[c * stride + x] = product[x * WIDTH + c];
        for (int x = count; x < stride; x++) rows[c * stride + x] = 0;
    }
% else
    to_${name}_relative(count, codes, panels, ${name}_rows(step, l));
% end
}

/* The rows of the layers that share a set of distances. */
static void make_${name}_relative(const lh_cpu_step *step, int set) {
    int count = make_${name}_codes(step, set);
    for (int l = set; l < ${stack.count}; l += ${PREFIX}RELATIVE_SETS)
        make_${name}_rows(step, l, count, ${name}_codes(step, set));
}
% elseif relative.toeplitz then
/* The rows of the layers that share a set of distances. */
static void make_${name}_relative(const lh_cpu_step *step, int set) {
    const parameters *p = step->parameters;
% if cross then
    int T = step->shape.length[${queries.stream}], S = step->shape.length[${keys.stream}];
    int stride = ${name}_row_stride(T, S);
% else
    int T = step->shape.length[${queries.stream}], stride = ${name}_row_stride(T);
% end
    for (int l = set; l < ${stack.count}; l += ${PREFIX}RELATIVE_SETS) {
        real *rows = ${name}_rows(step, l);
        memset(rows, 0, ${name}_row_elements(${T_S}) * sizeof(real));
        for (int x = 0; x < ${name}_distance_count(${T_S}); x++) {
            int at = ${name}_table_row(${name}_distance(step, set, x));
            const real *row = p->${stack.member}[l].${prefix}relative_table + at * ${PREFIX}HEAD_WIDTH;
            for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) rows[d * stride + x] = row[d];
        }
    }
}
% end
