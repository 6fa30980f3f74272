% -- The body of pass_fragments.tpl for gradients of queries. `starts` has two values for each query:
% --   start_logit    the initial value of accumulators of logits: -log_sum, so that exp gives weights with the sum 1
% --   start_dweight  the initial value of accumulators of dweights: minus their weighted mean
% local is_scaled = attends.rounded == "true" -- rounded queries are stored with the factors LOGIT_SCALE and to_log2
% local scale = is_scaled and "1" or PREFIX .. "LOGIT_SCALE" .. attends.to_log2
const int channel = h * ${PREFIX}HEAD_WIDTH + part_channel();
const real *douts = get_row(w->${attends.dout} + channel, sequence * T, WIDTH),
        *outs = get_row(s->${attends.out} + channel, sequence * T, WIDTH);
const real *queries = compute_once(a.query + part_channel()), *keys = ${cross and "compute_once(a.key + part_channel())" or "queries + WIDTH"},
        *values = keys + WIDTH, *key_channels = compute_once(a.key + tile_row());
operand_word rows[${PREFIX}GROUPS * ${PREFIX}STEPS][4], dout[${PREFIX}GROUPS * ${PREFIX}STEPS][4];
const real *log_sums = compute_once(s->${prefix}log_sum + head_offset);
real start_logit[2 * ${PREFIX}GROUPS], start_dweight[2 * ${PREFIX}GROUPS], dquery[${PREFIX}GROUPS * ${PREFIX}TILES][4];
load_groups_of_head(${PREFIX}GROUPS, ${attends.rounded}, queries, query, ${PREFIX}QUERY_STRIDE, 0, ${PREFIX}HEAD_WIDTH,
        ${scale}, rows);
load_groups_of_head(${PREFIX}GROUPS, ${attends.rounded_out}, douts, query, WIDTH, 0, ${PREFIX}HEAD_WIDTH, 1, dout);
clear_tiles(${PREFIX}GROUPS, ${PREFIX}HEAD_WIDTH, dquery);
#pragma unroll
for (int r = 0; r < 2 * ${PREFIX}GROUPS; r++) {
    start_logit[r] = -*get_row(log_sums, query[r], 1);
    start_dweight[r] = -dot_rows_of_head(${attends.rounded_out}, dout + r / 2 * ${PREFIX}STEPS, r % 2,
            get_row(douts, query[r], WIDTH), get_row(outs, query[r], WIDTH), ${PREFIX}HEAD_WIDTH);
}
real *starts = w->${prefix}starts + 2 * (head_offset + row);
#pragma unroll
for (int r = 0; r < 2 * ${PREFIX}GROUPS; r++)
    if (tile_column() == 0 && row + r * GROUP_ROWS / 2 < T)
        *(couple *)(starts + r * GROUP_ROWS) = {{start_logit[r], start_dweight[r]}};
% include("attention/cuda/bounds_fragments.tpl")
#pragma unroll 1
for (int first = begin; first < end; first += STEP) {
    real gradients[DEPTH * ${PREFIX}GROUPS][4];
#pragma unroll
    for (int n = 0; n < DEPTH; n++) {
        const int key = min(first + n * TILE_COLUMNS + tile_row(), S - 1);
        real logits[${PREFIX}GROUPS][4], dweights[${PREFIX}GROUPS][4];
        begin_with_zero(${PREFIX}GROUPS, logits); % if terms.maps_logits
        begin_with_rows(${PREFIX}GROUPS, start_logit, logits); % else
        begin_with_zero(${PREFIX}GROUPS, dweights); % if terms.drops_weights
        begin_with_rows(${PREFIX}GROUPS, start_dweight, dweights); % else
        multiply_heads(${PREFIX}GROUPS, ${attends.rounded}, rows, get_row(keys, key, ${attends.key_stride}), ${PREFIX}HEAD_WIDTH, 1,
                logits);
        multiply_heads(${PREFIX}GROUPS, ${attends.rounded}, dout, get_row(values, key, ${attends.key_stride}), ${PREFIX}HEAD_WIDTH, 1,
                dweights);
#pragma unroll
        for (int e = 0; e < 4 * ${PREFIX}GROUPS; e++) {
            const int place = first + n * TILE_COLUMNS + tile_column() + e % 2, lane_query = e / 2;
            const int i = query[lane_query];
            const int j = min(place, S - 1);
            % include("attention/cuda/gradient_fragments.tpl")
            gradients[n * ${PREFIX}GROUPS + e / 4][e % 4] = dlogit;
        }
    }
    add_rows_of_head(${PREFIX}GROUPS, false, ${attends.rounded}, gradients, key_channels, ${attends.key_stride}, first, S,
            ${PREFIX}HEAD_WIDTH, dquery);
}
real *to = w->${attends.dq} + ((size_t)sequence * T + row) * ${PREFIX}QUERY_STRIDE + h * ${PREFIX}HEAD_WIDTH;
store_groups_of_head(${PREFIX}GROUPS, ${attends.rounded}, dquery, row, T, ${PREFIX}QUERY_STRIDE, ${PREFIX}HEAD_WIDTH, ${PREFIX}LOGIT_SCALE,
        to + tile_column());
