% if relative.kind == "transformer_xl" then
${prefix}make_codes(v, t->rank * THREADS + (int)threadIdx.x, t->blocks * THREADS);
team_barrier(t);
int ${prefix}part = t->rank; /* blocks take tiles in turn, from layer to layer */
for (int l = 0; l < ${stack.count}; l++) {
    const int tiles = (${prefix}row_count(v, l) + TILE - 1) / TILE;
% if attends.slice then
    for (; ${prefix}part < tiles * (WIDTH / ${PREFIX}SLICE); ${prefix}part += t->blocks)
        ${prefix}make_rows(v, l, ${prefix}part % tiles * TILE, ${prefix}part / tiles * ${PREFIX}SLICE);
    ${prefix}part -= tiles * (WIDTH / ${PREFIX}SLICE);
% else
    for (; ${prefix}part < tiles; ${prefix}part += t->blocks) ${prefix}make_rows(v, l, ${prefix}part * TILE);
    ${prefix}part -= tiles;
% end
}
% end
% if relative.kind == "shaw" then
${prefix}make_rows(v, t->rank * THREADS + (int)threadIdx.x, t->blocks * THREADS);
% end
% if score.kind ~= "none" and score.cuda.stages[1] then
for (int stage = 0; stage < ${PREFIX}SCORE_STAGES; stage++) {
    for (int l = 0; l < ${PREFIX}SCORE_SETS; l++) {
        ${prefix}score_tables tables;
        ${prefix}score_tables_of(v, l, &tables);
        ${prefix}make_score(stage, v, l, &tables, t->rank * THREADS + (int)threadIdx.x, t->blocks * THREADS);
    }
    if (stage + 1 < ${PREFIX}SCORE_STAGES) team_barrier(t);
}
% end
