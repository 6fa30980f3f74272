% -- Calls make_score for all sets of tables.
% local first, stride = "t->rank * THREADS + (int)threadIdx.x", "t->blocks * THREADS"
% if scalar.set_count > 1 then
for (int l = 0; l < ${PREFIX}SCORE_SETS; l++) {
    const ${prefix}score_tables tables = ${prefix}find_score_tables(v, l);
    ${prefix}make_score(stage, v, l, &tables, ${first}, ${stride});
}
% else
const ${prefix}score_tables ${prefix}tables = ${prefix}find_score_tables(v, 0);
${prefix}make_score(stage, v, 0, &${prefix}tables, ${first}, ${stride});
% end
