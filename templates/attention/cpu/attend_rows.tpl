% -- Writes rows and pair_rows of a head's scratch.
% --   inverse_of_row   C text of a factor that weights lack: the inverse of the sum of a query's weights, or "1"
% --   query_factor     C text of a factor that dlogits lack
for (int t = ${from_query}; t < ${to_query}; t++) {
    real *row = scratch->rows + t * ${terms.vectors_per_query} * ${PREFIX}HEAD_WIDTH;
    real dout_factor = ${inline("row_factor", inverse_of_row)}, query_factor = ${query_factor};
    if (${PREFIX}PAIRED) { % if paired and not terms.pair_vectors then
        const real factors[2] = {dout_factor, query_factor};
        store(row,
                load_pair(${PREFIX}HEAD_WIDTH, dout + t * WIDTH,
                        query + t * ${PREFIX}QUERY_STRIDE) * broadcast_pair(factors));
        continue;
    }
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d += ${PREFIX}HEAD_PART) {
        const ${name}_part *g = (const ${name}_part *)(dout + t * WIDTH + d);
        const ${name}_part *q = (const ${name}_part *)(query + t * ${PREFIX}QUERY_STRIDE + d);
        *(${name}_part *)(row + d) = *g * dout_factor;
% if terms.has_biases then
        const ${name}_part *content = (const ${name}_part *)(head->content_bias + d);
        const ${name}_part *position = (const ${name}_part *)(head->position_bias + d);
        *(${name}_part *)(row + ${PREFIX}HEAD_WIDTH + d) = (*q + *content) * query_factor;
        *(${name}_part *)(row + 2 * ${PREFIX}HEAD_WIDTH + d) = (*q + *position) * query_factor;
% else
        *(${name}_part *)(row + ${PREFIX}HEAD_WIDTH + d) = ${inline("query_of_row", "*q")} * query_factor;
% end
    }
}
if (${PREFIX}PAIRED) { % if paired and terms.pair_vectors then
    for (int t = ${from_query}; t < ${to_query}; t++) {
        const real *row = scratch->rows + t * ${terms.vectors_per_query} * ${PREFIX}HEAD_WIDTH;
        store(scratch->pair_rows + t * 2 * ${PREFIX}HEAD_WIDTH,
                load_pair(${PREFIX}HEAD_WIDTH, row, row + ${PREFIX}HEAD_WIDTH));
    }
}
