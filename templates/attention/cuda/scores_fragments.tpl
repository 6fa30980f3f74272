% -- Scores of the warp's queries with TILE_COLUMNS keys, from `at` on. masks: whether keys from S on get -1e30.
multiply_heads(${PREFIX}GROUPS, ${attends.rounded}, rows, row_of(keys, min(at + row_in_tile, S - 1), ${attends.key_stride}), ${PREFIX}HEAD_WIDTH, 1,
        score);
% if terms.scaled or terms.spans then
#pragma unroll
for (int e = 0; e < 4 * ${PREFIX}GROUPS; e++) {
    const int place = at + tile_column() + e % 2; % if masks
    const int i = query[e / 2];
    const int j = min(at + tile_column() + e % 2, S - 1);
    real *own = score[e / 4] + e % 4;
    *own = LOG2E * (${inline("score", "*own")}); % if terms.scaled
    const bool there = ${masks and "place < S && " or ""}${inline("exists", "")}; % if terms.spans
    const bool there = place < S; % elseif masks
    if (!there) *own = (real)-1e30; % if masks or terms.spans
}
% elseif masks then
if (at + TILE_COLUMNS > S) { /* the last tile */
#pragma unroll
    for (int e = 0; e < 4 * ${PREFIX}GROUPS; e++)
        if (at + tile_column() + e % 2 >= S) score[e / 4][e % 4] = (real)-1e30;
}
% end
