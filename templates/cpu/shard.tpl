static void begin_shard(const lh_cpu_step *step, void *memory) {
    shard_sums sums;
    size_t bytes = 0;
    lay_out_sums(&sums, memory, &bytes, step->shape.length[0]);
    memset(memory, 0, bytes);
}

% if relative.kind ~= "none" then
% if relative.kind == "transformer_xl" then
NOINLINE void relative_weight_grad(int rows, const real *codes, const real *drows, real *dw) {
    matmul_weight_grad(rows, WIDTH, WIDTH, codes, drows, dw);
}

static void end_relative(const lh_cpu_step *step, int l, const shard_sums *sums, layer_parameters *g) {
    const int set = RELATIVE_SETS > 1 ? l : 0;
% if relative.toeplitz then
    int count = relative_count(step->shape.length[0]);
% else
    int count = ((const shared *)step->shared)->relative_count[set];
% end
    relative_weight_grad(count, relative_codes(step, set), sums->rows[l], g->relative);
    for (int c = 0; c < WIDTH; c++) {
        const real *sum = sums->biases[l] + (c / HEAD_WIDTH * 2 * HEAD_WIDTH + c % HEAD_WIDTH) * LANES;
        g->content_bias[c] += sum_lanes(load(sum));
        g->position_bias[c] += sum_lanes(load(sum + HEAD_WIDTH * LANES));
    }
}
% elseif relative.kind == "shaw" then
static void end_relative(const lh_cpu_step *step, int l, const shard_sums *sums, layer_parameters *g) {
% if relative.toeplitz then
    for (int x = 0; x < relative_count(step->shape.length[0]); x++) {
        int row = table_row(relative_distance(step, RELATIVE_SETS > 1 ? l : 0, x));
% else
    (void)step;
    for (int x = 0; x < 2 * CLIP + 1; x++) {
        int row = x;
% end
        const real *sum = sums->rows[l] + x * HEAD_WIDTH;
        for (int d = 0; d < HEAD_WIDTH; d++) g->relative_table[row * HEAD_WIDTH + d] += sum[d];
    }
}
% end

% end
% if normaliser.kind == "geometric" then
static void end_geometric(const geometric_sums *sums, layer_parameters *g) {
    for (int c = 0; c < WIDTH; c++) g->content_bias[c] += sum_lanes(sums->content_bias[c]);
    g->geometric.scale += sum_lanes(sums->scale);
    g->geometric.offset += sum_lanes(sums->offset);
% if normaliser.directional then
    g->geometric.direction_scale += sum_lanes(sums->direction_scale);
% end
}

% end
static void end_shard(const lh_cpu_step *step, void *memory, void *gradient) {
    parameters *g = gradient;
    shard_sums sums;
    size_t bytes = 0;
    lay_out_sums(&sums, memory, &bytes, step->shape.length[0]);
% if relative.kind ~= "none" then
    for (int l = 0; l < LAYERS; l++) end_relative(step, l, &sums, &g->layer[l]);
% end
% if normaliser.kind == "geometric" then
    for (int l = 0; l < LAYERS; l++) end_geometric(sums.geometric[l], &g->layer[l]);
% end
% if score.trains then
    for (int l = 0; l < SCORE_SETS; l++) {
        score_tables tables;
        score_tables_of(step, l, &tables);
        end_score(step, l, &tables, &sums.score[l], g);
    }
% end
}
