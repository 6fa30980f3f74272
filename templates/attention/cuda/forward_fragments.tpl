% -- The body of pass_fragments.tpl for queries: finds the largest scores, then sums weights and weighted values.
% local is_scaled = attends.rounded == "true" -- rounded queries are stored already scaled
% local scale = is_scaled and "1" or PREFIX .. "LOGIT_SCALE" .. attends.to_log2
% slot("unless_training")
const real *queries = compute_once(a.query + part_channel()), *keys = ${cross and "compute_once(a.key + part_channel())" or "queries + WIDTH"},
        *values = compute_once(a.value + tile_row());
operand_word rows[${PREFIX}GROUPS * ${PREFIX}STEPS][4];
real largest[2 * ${PREFIX}GROUPS], sum[2 * ${PREFIX}GROUPS], out[${PREFIX}GROUPS * ${PREFIX}TILES][4];
#pragma unroll
for (int r = 0; r < 2 * ${PREFIX}GROUPS; r++) {
    largest[r] = (real)-1e30;
    sum[r] = 0;
}
load_groups_of_head(${PREFIX}GROUPS, ${attends.rounded}, queries, query, ${PREFIX}QUERY_STRIDE, 0, ${PREFIX}HEAD_WIDTH,
        ${scale}, rows);
clear_tiles(${PREFIX}GROUPS, ${PREFIX}HEAD_WIDTH, out);
const int row_in_tile = compute_number_once(tile_row());
% include("attention/cuda/bounds_fragments.tpl")
#pragma unroll 1
for (int tile_start = begin; tile_start < end; tile_start += TILE_COLUMNS) {
    real score[${PREFIX}GROUPS][4];
    begin_with_zero(${PREFIX}GROUPS, score);
    % include("attention/cuda/scores_fragments.tpl", { masks = false })
#pragma unroll
    for (int e = 0; e < 4 * ${PREFIX}GROUPS; e++) largest[e / 2] = fmax(largest[e / 2], score[e / 4][e % 4]);
}
real start_score[2 * ${PREFIX}GROUPS]; /* the accumulator of a score starts with -largest, so that weights are at most 1 */ % if not terms.maps_logits
#pragma unroll
for (int r = 0; r < 2 * ${PREFIX}GROUPS; r++) {
    largest[r] = tile_row_largest(largest[r]);
    start_score[r] = -largest[r]; % if not terms.maps_logits
}
#pragma unroll 1
for (int first = begin; first < end; first += STEP) {
    real weights[DEPTH * ${PREFIX}GROUPS][4];
#pragma unroll
    for (int n = 0; n < DEPTH; n++) {
        const int tile_start = first + n * TILE_COLUMNS;
        real score[${PREFIX}GROUPS][4];
        begin_with_zero(${PREFIX}GROUPS, score); % if terms.maps_logits
        begin_with_rows(${PREFIX}GROUPS, start_score, score); % else
        % include("attention/cuda/scores_fragments.tpl", { masks = true })
#pragma unroll
        for (int e = 0; e < 4 * ${PREFIX}GROUPS; e++) {
% if terms.drops_weights then
            const int i = query[e / 2];
            const int j = min(tile_start + tile_column() + e % 2, S - 1);
% end
            const real weight = exp2_weight(score[e / 4][e % 4]${terms.maps_logits and " - largest[e / 2]" or ""});
            sum[e / 2] += weight;
            weights[n * ${PREFIX}GROUPS + e / 4][e % 4] = ${inline("weight_of_key", "weight")};
        }
    }
    add_rows_of_head(${PREFIX}GROUPS, true, ${attends.rounded}, weights, values, ${attends.key_stride}, first, S,
            ${PREFIX}HEAD_WIDTH, out);
}
#pragma unroll
for (int r = 0; r < 2 * ${PREFIX}GROUPS; r++) sum[r] = tile_row_sum(sum[r]);
real *to = s->${attends.out} + ((size_t)sequence * T + row) * WIDTH + h * ${PREFIX}HEAD_WIDTH + tile_column();
real *log_sums = s->${prefix}log_sum + task / tiles * T + row;
#pragma unroll
for (int r = 0; r < 2 * ${PREFIX}GROUPS; r++) {
    const int below = r * GROUP_ROWS / 2;
    const real log_sum = log2_weight(sum[r]);
    if (row + below >= T) continue;
    store_row_of_head(${attends.rounded_out}, out + r / 2 * ${PREFIX}TILES, r % 2, ${PREFIX}HEAD_WIDTH, exp2_weight(-log_sum),
            to + below * WIDTH);
    if (tile_column() == 0) log_sums[below] = largest[r] + log_sum;
}
