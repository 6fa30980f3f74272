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

/* Makes the rows of distances of all layers that share a set of distances. */
static void make_${name}_relative(const lh_cpu_step *step, int set) {
    int count = make_${name}_codes(step, set);
% local every = rows.sets == 1 and ("for (int l = 0; l < %s; l++) "):format(stack.count) or ""
% local l = rows.sets == 1 and "l" or "set"
    ${every}make_${name}_rows(step, ${l}, count, ${name}_codes(step, set));
}
