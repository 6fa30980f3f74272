% -- The body of pass_fragments.tpl for gradients of keys and values.
% --   starts      see queries_fragments.tpl
% --   rows        the warp's keys
% --   place       the index of a query; it may be beyond the last query
% --   i           the same index, limited to the last query
% --   lane_query  the index of the query in start_logit and start_dweight
% local is_scaled = attends.rounded == "true" -- rounded queries are stored with the factors LOGIT_SCALE and to_log2
% local scale = is_scaled and "1" or PREFIX .. "LOGIT_SCALE" .. attends.to_log2
% -- scale_of_gradient: the factor of a key's gradient, without the factors that stored queries already have
% local scale_of_gradient = "1 / LOG2E"
% if not is_scaled then
% scale_of_gradient = PREFIX .. "LOGIT_SCALE"
% elseif terms.maps_logits then
% scale_of_gradient = "1"
% end
const real *dout_rows = get_row(w->${attends.dout} + h * ${PREFIX}HEAD_WIDTH, sequence * T, WIDTH);
const real *douts = compute_once(dout_rows + part_channel()), *dout_channels = compute_once(dout_rows + tile_row());
const real *starts = compute_once(w->${prefix}starts + 2 * head_offset);
const real *queries = compute_once(a.query + part_channel()), *keys = ${cross and "compute_once(a.key + part_channel())" or "queries + WIDTH"},
        *query_channels = compute_once(a.query + tile_row());
operand_word rows[${PREFIX}GROUPS * ${PREFIX}STEPS][4], value_rows[${PREFIX}GROUPS * ${PREFIX}STEPS][4];
real dkey[${PREFIX}GROUPS * ${PREFIX}TILES][4], dvalue[${PREFIX}GROUPS * ${PREFIX}TILES][4];
load_groups_of_head(${PREFIX}GROUPS, ${attends.rounded}, keys, key, ${attends.key_stride}, 0, ${PREFIX}HEAD_WIDTH, 1, rows);
load_groups_of_head(${PREFIX}GROUPS, ${attends.rounded}, keys, key, ${attends.key_stride}, WIDTH, ${PREFIX}HEAD_WIDTH, 1, value_rows);
clear_tiles(${PREFIX}GROUPS, ${PREFIX}HEAD_WIDTH, dkey);
clear_tiles(${PREFIX}GROUPS, ${PREFIX}HEAD_WIDTH, dvalue);
% include("attention/cuda/bounds_fragments.tpl")
#pragma unroll 1
for (int from = begin; from < end; from += STEP) {
    real weights[DEPTH * ${PREFIX}GROUPS][4], gradients[DEPTH * ${PREFIX}GROUPS][4];
#pragma unroll
    for (int n = 0; n < DEPTH; n++) {
        const int tile_start = from + n * TILE_COLUMNS, query = min(tile_start + tile_row(), T - 1);
        real logits[${PREFIX}GROUPS][4], dweights[${PREFIX}GROUPS][4], start_logit[2], start_dweight[2];
#pragma unroll
        for (int c = 0; c < 2; c++) {
            const int index = tile_start + tile_column() + c;
            const couple start = *(const couple *)get_row(starts, min(index, T - 1), 2);
            start_logit[c] = index < T ? start.v[0] : (real)-1e30; /* queries beyond the last one have no weight */
            start_dweight[c] = start.v[1];
        }
        begin_with_zero(${PREFIX}GROUPS, logits); % if terms.maps_logits
        begin_with_columns(${PREFIX}GROUPS, start_logit, logits); % else
        begin_with_zero(${PREFIX}GROUPS, dweights); % if terms.drops_weights
        begin_with_columns(${PREFIX}GROUPS, start_dweight, dweights); % else
        multiply_heads(${PREFIX}GROUPS, ${attends.rounded}, rows, get_row(queries, query, ${PREFIX}QUERY_STRIDE), ${PREFIX}HEAD_WIDTH,
                ${scale}, logits);
        multiply_heads(${PREFIX}GROUPS, ${attends.rounded_out}, value_rows, get_row(douts, query, WIDTH), ${PREFIX}HEAD_WIDTH, 1, dweights);
#pragma unroll
        for (int e = 0; e < 4 * ${PREFIX}GROUPS; e++) {
            const int place = tile_start + tile_column() + e % 2, lane_query = e % 2;
            const int i = min(place, T - 1);
            const int j = key[e / 2];
            % include("attention/cuda/gradient_fragments.tpl")
            gradients[n * ${PREFIX}GROUPS + e / 4][e % 4] = dlogit;
            weights[n * ${PREFIX}GROUPS + e / 4][e % 4] = ${inline("weight_of_value", "weight")};
        }
    }
    add_rows_of_head(${PREFIX}GROUPS, true, ${attends.rounded}, gradients, query_channels, ${PREFIX}QUERY_STRIDE, from, T,
            ${PREFIX}HEAD_WIDTH, dkey);
    add_rows_of_head(${PREFIX}GROUPS, true, ${attends.rounded_out}, weights, dout_channels, WIDTH, from, T, ${PREFIX}HEAD_WIDTH, dvalue);
}
real *to = w->${attends.dkv} + (size_t)(sequence * S + row) * ${attends.key_stride}${attends.to_keys};
to += h * ${PREFIX}HEAD_WIDTH + tile_column();
store_groups_of_head(${PREFIX}GROUPS, ${attends.rounded}, dkey, row, S, ${attends.key_stride}, ${PREFIX}HEAD_WIDTH, ${scale_of_gradient}, to);
store_groups_of_head(${PREFIX}GROUPS, ${attends.rounded}, dvalue, row, S, ${attends.key_stride}, ${PREFIX}HEAD_WIDTH, 1, to + WIDTH);
