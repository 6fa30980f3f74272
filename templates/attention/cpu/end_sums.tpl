% local of_step = ("step->shape.length[%d]"):format(queries.stream) .. (cross and (", step->shape.length[%d]"):format(keys.stream) or "")
% if relative.kind ~= "none" then
% if relative.toeplitz and relative.biases then
NOINLINE void ${name}_relative_weight_grad(int rows, const real *codes, const real *drows, real *dw) {
    matmul_weight_grad(rows, WIDTH, WIDTH, codes, drows, dw);
}

% end
% if relative.biases then
static void end_${name}_relative(const lh_cpu_step *step, int l, const ${name}_sums *sums, ${stack.parameters} *g) {
% if relative.turned then
    (void)step;
    for (int c = 0; c < WIDTH; c++)
        for (int k = 0; k < WIDTH; k++) g->${prefix}relative[k * WIDTH + c] += sums->weights[l][c * WIDTH + k];
% else
    const int set = ${PREFIX}RELATIVE_SETS > 1 ? l : 0;
    int count = ${name}_distance_count(${of_step});
    ${name}_relative_weight_grad(count, ${name}_codes(step, set), sums->rows[l], g->${prefix}relative);
% end
    for (int c = 0; c < WIDTH; c++) {
        int of_head = c / ${PREFIX}HEAD_WIDTH * 2 * ${PREFIX}HEAD_WIDTH;
        const real *sum = sums->biases[l] + (of_head + c % ${PREFIX}HEAD_WIDTH) * LANES;
        g->${prefix}content_bias[c] += sum_lanes(load(sum));
        g->${prefix}position_bias[c] += sum_lanes(load(sum + ${PREFIX}HEAD_WIDTH * LANES));
    }
}
% elseif relative.kind == "shaw" then
static void end_${name}_relative(const lh_cpu_step *step, int l, const ${name}_sums *sums, ${stack.parameters} *g) {
% if relative.toeplitz then
    for (int x = 0; x < ${name}_distance_count(${of_step}); x++) {
        int row = ${name}_table_row(${name}_distance(step, ${PREFIX}RELATIVE_SETS > 1 ? l : 0, x));
% else
    (void)step;
    for (int x = 0; x < ${relative.rows_text}; x++) {
        int row = x;
% end
        const real *sum = sums->rows[l] + x * ${PREFIX}HEAD_WIDTH;
        real *to = g->${prefix}relative_table + row * ${PREFIX}HEAD_WIDTH;
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) to[d] += sum[d];
    }
}
% end

% end
% if normaliser.kind == "geometric" then
static void end_${name}_numbers(const ${name}_number_sums *sums, ${stack.parameters} *g) {
    for (int c = 0; c < WIDTH; c++) g->${prefix}content_bias[c] += sum_lanes(sums->content_bias[c]);
    g->${prefix}geometric.scale += sum_lanes(sums->scale);
    g->${prefix}geometric.offset += sum_lanes(sums->offset);
% if normaliser.directional then
    g->${prefix}geometric.direction_scale += sum_lanes(sums->direction_scale);
% end
}

% end
/* Takes what a shard's ${name}-attentions have added up to the gradient. */
static void end_${name}_sums(const lh_cpu_step *step, const ${name}_sums *sums, parameters *g) {
% if relative.kind ~= "none" then
    for (int l = 0; l < ${stack.count}; l++) end_${name}_relative(step, l, sums, &g->${stack.member}[l]);
% end
% if normaliser.kind == "geometric" then
    for (int l = 0; l < ${stack.count}; l++) end_${name}_numbers(sums->numbers[l], &g->${stack.member}[l]);
    (void)step;
% end
% if score.trains then
    for (int l = 0; l < ${PREFIX}SCORE_SETS; l++) {
        ${name}_score_tables tables;
        ${name}_score_tables_of(step, l, &tables);
        end_${name}_score(step, l, &tables, &sums->score[l], g);
    }
% end
}
