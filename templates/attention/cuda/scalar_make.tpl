% local tables_of, make = prefix .. "score_tables_of", prefix .. "make_score"
% local first, stride = "t->rank * THREADS + (int)threadIdx.x", "t->blocks * THREADS"
% if scalar.sets > 1 then
for (int l = 0; l < ${PREFIX}SCORE_SETS; l++) {
    ${prefix}score_tables tables;
    % call(tables_of, "v", "l", "&tables")
    % call(make, "stage", "v", "l", "&tables", first, stride)
}
% else
% local tables = "&" .. prefix .. "tables"
${prefix}score_tables ${prefix}tables;
% call(tables_of, "v", "0", tables)
% call(make, "stage", "v", "0", tables, first, stride)
% end
