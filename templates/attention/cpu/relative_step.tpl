% local per_distance = relative.kind == "transformer_xl"
% local T_S = cross and "T, S" or "T"
% local of_step = ("step->shape.length[%d]"):format(queries.stream) .. (cross and (", step->shape.length[%d]"):format(keys.stream) or "")
% if relative.turned then
% local S, of_keys = cross and "S" or "T", cross and "key_position" or "position"
/* Sinusoids of the positions of a set, of the keys and, channel by channel, of the queries; the weights of the layers
 * that share it, head by head. */
static void make_${name}_relative(const lh_cpu_step *step, int set) {
    const parameters *p = step->parameters;
    shared *s = step->shared;
    const position_row *table = step->tables;
    const int l = set;
    const int32_t *position = s->${prefix}position[${positions.layer_index}];
% if cross then
    const int32_t *key_position = s->${prefix}key_position[${positions.layer_index}];
    int T = step->shape.length[${queries.stream}], S = step->shape.length[${keys.stream}];
% else
    int T = step->shape.length[${queries.stream}];
% end
    int stride = ${name}_place_stride(T);
    real *codes = ${name}_codes(step, set), *places = ${name}_places(step, set);
    (void)l;
    memset(codes, 0, ${name}_code_elements(${S}) * sizeof(real));
    memset(places, 0, (size_t)stride * WIDTH * sizeof(real));
    for (int j = 0; j < ${S}; j++) memcpy(codes + j * WIDTH, table[${of_keys}[j]].sinusoid, WIDTH * sizeof(real));
    for (int c = 0; c < WIDTH; c++)
        for (int i = 0; i < T; i++) places[c * stride + i] = table[position[i]].sinusoid[c];
    for (int of_layer = set; of_layer < ${stack.count}; of_layer += ${PREFIX}RELATIVE_SETS)
        pack_heads(${PREFIX}HEAD_WIDTH, WIDTH, p->${stack.member}[of_layer].${prefix}relative, s->${stack.member}[of_layer].${prefix}relative);
}
% elseif per_distance then
static int make_${name}_codes(const lh_cpu_step *step, int set) {
    int count = ${name}_distance_count(${of_step});
    real *codes = ${name}_codes(step, set);
    for (int x = 0; x < count; x++) signed_sinusoid(step->tables, ${name}_distance(step, set, x), codes + x * WIDTH);
    return count;
}

NOINLINE void to_${name}_relative(int rows, const real *codes, const real *panels, real *y) {
    matmul(rows, WIDTH, WIDTH, codes, panels, y, FINISH_STORE, NULL);
}

static void make_${name}_rows(const lh_cpu_step *step, int l, int count, const real *codes) {
    const parameters *p = step->parameters;
    real *panels = ((shared *)step->shared)->${stack.member}[l].${prefix}relative;
    pack_weights(WIDTH, WIDTH, p->${stack.member}[l].${prefix}relative, panels);
    real *product = ${name}_product(step, l), *rows = ${name}_rows(step, l);
    int stride = ${name}_row_stride(${of_step});
    to_${name}_relative(count, codes, panels, product);
    for (int c = 0; c < WIDTH; c++) {
        for (int x = 0; x < count; x++) rows[c * stride + x] = product[x * WIDTH + c];
        for (int x = count; x < stride; x++) rows[c * stride + x] = 0;
    }
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
