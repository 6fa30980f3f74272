% local first, stride = "t->rank * THREADS + (int)threadIdx.x", "t->blocks * THREADS"
% if scalar.sets > 1 then
for (int l = 0; l < ${PREFIX}SCORE_SETS; l++) {
    ${prefix}score_tables tables;
    ${prefix}score_tables_of(v, l, &tables);
    ${prefix}make_score(stage, v, l, &tables, ${first}, ${stride});
}
% else
${prefix}score_tables ${prefix}tables;
${prefix}score_tables_of(v, 0, &${prefix}tables);
${prefix}make_score(stage, v, 0, &${prefix}tables, ${first}, ${stride});
% end
