% local per_distance = relative.kind == "transformer_xl"
% if per_distance then
/* The sinusoid of a signed distance: sines are odd, cosines even. */
static void signed_sinusoid(const position_row *table, int distance, real *row) {
    const real *from = table[distance < 0 ? -distance : distance].sinusoid;
    for (int c = 0; c < WIDTH / 2; c++) row[c] = distance < 0 ? -from[c] : from[c];
    memcpy(row + WIDTH / 2, from + WIDTH / 2, WIDTH / 2 * sizeof(real));
}

% if relative.toeplitz then
static int make_codes(const lh_cpu_step *step, int set) {
    int count = relative_count(step->shape.length[0]);
    real *codes = relative_codes(step, set);
    for (int x = 0; x < count; x++) signed_sinusoid(step->tables, relative_distance(step, set, x), codes + x * WIDTH);
    return count;
}
% else
/* Numbers the distances that occur in the set's draw; their sinusoids. */
static int make_codes(const lh_cpu_step *step, int set) {
    shared *s = step->shared;
    const int l = set;
    const int32_t *position = s->position[${positions.layer_index}];
    int32_t *row = s->relative_row[set];
    int T = step->shape.length[0], count = 0;
    real *codes = relative_codes(step, set);
    (void)l;
    memset(row, 0, (2 * MAX_POSITION - 1) * sizeof *row);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++) row[position[j] - position[i] + MAX_POSITION - 1] = 1;
    for (int d = 0; d < 2 * MAX_POSITION - 1; d++) {
        if (!row[d]) continue;
        signed_sinusoid(step->tables, d - (MAX_POSITION - 1), codes + count * WIDTH);
        row[d] = count++;
    }
    s->relative_count[set] = count;
    int32_t *offset = relative_offsets(step, set);
    for (int j = 0; j < T; j++)
        for (int i = 0; i < round_up(T, LANES); i++)
            *offset++ = row[position[j] - position[i < T ? i : T - 1] + MAX_POSITION - 1] * RELATIVE_WIDTH;
    return count;
}
% end

NOINLINE void to_relative(int rows, const real *codes, const real *panels, real *y) {
    matmul(rows, WIDTH, WIDTH, codes, panels, y, FINISH_STORE, NULL);
}

static void make_rows(const lh_cpu_step *step, int l, int count, const real *codes) {
    real *panels = ((shared *)step->shared)->layer[l].relative;
    pack_weights(WIDTH, WIDTH, ((const parameters *)step->parameters)->layer[l].relative, panels);
% if relative.toeplitz then
    real *product = relative_product(step, l), *rows = relative_rows(step, l);
    int stride = relative_stride(step->shape.length[0]);
    to_relative(count, codes, panels, product);
    for (int c = 0; c < WIDTH; c++) {
        for (int x = 0; x < count; x++) rows[c * stride + x] = product[x * WIDTH + c];
        for (int x = count; x < stride; x++) rows[c * stride + x] = 0;
    }
% else
    to_relative(count, codes, panels, relative_rows(step, l));
% end
}

/* The rows of the layers that share a set of distances. */
static void make_relative(const lh_cpu_step *step, int set) {
    int count = make_codes(step, set);
    for (int l = set; l < LAYERS; l += RELATIVE_SETS) make_rows(step, l, count, relative_codes(step, set));
}
% elseif relative.toeplitz then
/* The rows of the layers that share a set of distances. */
static void make_relative(const lh_cpu_step *step, int set) {
    const parameters *p = step->parameters;
    int T = step->shape.length[0], stride = relative_stride(T);
    for (int l = set; l < LAYERS; l += RELATIVE_SETS) {
        real *rows = relative_rows(step, l);
        memset(rows, 0, row_elements(T) * sizeof(real));
        for (int x = 0; x < relative_count(T); x++) {
            const real *row = p->layer[l].relative_table + table_row(relative_distance(step, set, x)) * HEAD_WIDTH;
            for (int d = 0; d < HEAD_WIDTH; d++) rows[d * stride + x] = row[d];
        }
    }
}
% end
