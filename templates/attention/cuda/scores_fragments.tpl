% -- Scores of the warp's queries with TILE_COLUMNS keys, from `tile_start` on. masks: whether keys from S on get -1e30.
multiply_heads(${PREFIX}GROUPS, ${attends.rounded}, rows, get_row(keys, min(tile_start + row_in_tile, S - 1), ${attends.key_stride}), ${PREFIX}HEAD_WIDTH, 1,
        score);
% if terms.maps_logits or terms.has_spans then
#pragma unroll
for (int e = 0; e < 4 * ${PREFIX}GROUPS; e++) {
    const int place = tile_start + tile_column() + e % 2; % if masks
    const int i = query[e / 2];
    const int j = min(tile_start + tile_column() + e % 2, S - 1);
    real *pair_score = score[e / 4] + e % 4;
    *pair_score = LOG2E * (${inline("score", "*pair_score")}); % if terms.maps_logits
    const bool sees_key = ${masks and "place < S && " or ""}${inline("exists", "")}; % if terms.has_spans
    const bool sees_key = place < S; % elseif masks
    if (!sees_key) *pair_score = (real)-1e30; % if masks or terms.has_spans
}
% elseif masks then
if (tile_start + TILE_COLUMNS > S) { /* the last tile */
#pragma unroll
    for (int e = 0; e < 4 * ${PREFIX}GROUPS; e++)
        if (tile_start + tile_column() + e % 2 >= S) score[e / 4][e % 4] = (real)-1e30;
}
% end
