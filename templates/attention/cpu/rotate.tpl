% local row = ranged and "(t - from)" or "t"
% if cross then
% if ranged then
/* Turns the rows of queries, or of keys, of one sequence by their positions: direction 1; turns gradients back: -1.
 * rows: those of tokens [from, to). */
% else
/* Turns the rows of queries, or of keys, of one sequence by their positions: direction 1; turns gradients back: -1. */
% end
% define("INLINE void rotate_" .. name, "const workspace *w", positions.kind ~= "index" and "const int32_t *position", ranged and "int from, int to" or "int count", "const int stride", "const int direction", "real *restrict rows")
    const position_row *table = w->step->tables;
% if ranged then
    for (int t = from; t < to; t++)
% else
    for (int t = 0; t < count; t++)
% end
% if positions.kind ~= "index" then
        rotate_row(WIDTH, ${PREFIX}ROTATION_PERIOD, table[position[t]].${prefix}rotation, direction, rows + ${row} * stride);
% else
        rotate_row(WIDTH, ${PREFIX}ROTATION_PERIOD, table[t].${prefix}rotation, direction, rows + ${row} * stride);
% end
}
% else
/* Turns queries and keys of sequence s by their positions: direction 1; turns their gradients back: -1. */
INLINE void rotate_${name}(const workspace *w, int l, int s, const int direction, real *restrict query_key_value) {
    const position_row *table = w->step->tables;
% if positions.kind == "sequence" then
    const int32_t *position = w->${queries.at}position + s * w->${queries.at}length;
% elseif positions.kind == "randomized" then
    const int32_t *position = ((const shared *)w->step->shared)->${prefix}position[${rotation.draw}];
    (void)s;
% else
    (void)s;
% end
% if not positions.layer_index or positions.layer_index == "0" then
    (void)l;
% end
% if ranged then
    const int from = w->${queries.at}from;
    for (int t = from; t < w->${queries.at}to; t++)
% else
    for (int t = 0; t < w->${queries.at}length; t++)
% end
% if positions.kind == "index" then
        rotate_row(2 * WIDTH, ${PREFIX}ROTATION_PERIOD, table[t].${prefix}rotation, direction,
                query_key_value + ${row} * ${PREFIX}QUERY_STRIDE);
% else
        rotate_row(2 * WIDTH, ${PREFIX}ROTATION_PERIOD, table[position[t]].${prefix}rotation, direction,
                query_key_value + ${row} * ${PREFIX}QUERY_STRIDE);
% end
}
% end
