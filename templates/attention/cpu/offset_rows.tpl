/* The rows of the layers that share a set of distances. */
static void make_${name}_relative(const lh_cpu_step *step, int set) {
    const parameters *p = step->parameters;
    const int T = step->shape.length[${queries.stream}], S = step->shape.length[${keys.stream}];
    int stride = ${name}_row_stride(${T_S});
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
