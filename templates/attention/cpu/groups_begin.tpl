% -- Begins a loop over groups of queries, for keys j .. j + KEYS - 1.
% --   rows      the name of the member of the scratch that holds vectors of the queries
% --   vectors   the number of vectors of one query
% local from = has_query_bounds and (" + head->first_query * %d * %sHEAD_WIDTH"):format(vectors, PREFIX) or ""
const int first_group = ${name}_first_group(head);
const real *row = scratch->${rows}${from};
for (int first = ${first_group}; first < ${to_query}; first += LANES) {
    const int group = ${has_query_bounds and "(first - first_group)" or "first"} / LANES;
