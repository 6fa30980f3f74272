% local of_queries, of_keys = "NULL", "NULL"
% if positions.kind == "sequence" then
% of_queries, of_keys = "w->" .. queries.at .. "position + s * T", "w->" .. keys.at .. "position + s * S"
% elseif positions.kind == "randomized" then
% of_queries, of_keys = "position", "key_position"
% end
% local asked, all, all_keys = "T", "T", "S"
% if ranged then
% asked, all, all_keys = "from, from + count", "0, T", "0, S"
% end
% section("heads")
% if cross and positions.kind == "randomized" then
const shared *drawn = w->step->shared;
const int32_t *position = drawn->${prefix}position[${positions.layer_index}];
const int32_t *key_position = drawn->${prefix}key_position[${positions.layer_index}];
% end
% section("turn")
% if cross then
rotate_${name}(w, ${of_queries}, ${asked}, ${PREFIX}QUERY_STRIDE, 1, query);
${ranged and "if (from == 0) " or ""}rotate_${name}(w, ${of_keys}, ${all_keys}, ${PREFIX}KEY_STRIDE, 1,
        key_value);
% else
rotate_${name}(w, l, s, 1, query_key_value);
% end
% section("turn_back")
% if cross then
rotate_${name}(w, ${of_queries}, ${all}, ${PREFIX}QUERY_STRIDE, -1, dquery);
rotate_${name}(w, ${of_keys}, ${all_keys}, ${PREFIX}KEY_STRIDE, -1, dkey_value);
% else
rotate_${name}(w, l, s, -1, dquery_key_value);
% end
% section("rotate")

% local place = positions.kind == "index" and "t" or "position[t]"
% local row = ranged and "(t - from)" or "t"
% if cross and ranged then
/* Turns the rows of queries, or of keys, of one sequence by their positions: direction 1; turns gradients back: -1.
 * rows: those of tokens [from, to). */
% elseif cross then
/* Turns the rows of queries, or of keys, of one sequence by their positions: direction 1; turns gradients back: -1. */
% else
/* Turns queries and keys of sequence s by their positions: direction 1; turns their gradients back: -1. */
% end
% if cross then
INLINE void rotate_${name}(const workspace *w, const int32_t *position, ${ranged and "int from, int to" or "int count"},
        const int stride, const int direction, real *restrict rows) {
    const position_row *table = w->step->tables;
    for (int t = ${ranged and "from" or "0"}; t < ${ranged and "to" or "count"}; t++)
        rotate_row(WIDTH, ${PREFIX}ROTATION_PERIOD, table[${place}].${prefix}rotation, direction,
                rows + ${row} * stride);
}
% else
INLINE void rotate_${name}(const workspace *w, int l, int s, const int direction, real *restrict query_key_value) {
    const position_row *table = w->step->tables;
% if positions.kind == "sequence" then
    const int32_t *position = w->${queries.at}position + s * w->${queries.at}length;
% elseif positions.kind == "randomized" then
    const int32_t *position = ((const shared *)w->step->shared)->${prefix}position[${draw}];
% end
% if ranged then
    const int from = w->${queries.at}from;
    for (int t = from; t < w->${queries.at}to; t++)
% else
    for (int t = 0; t < w->${queries.at}length; t++)
% end
        rotate_row(2 * WIDTH, ${PREFIX}ROTATION_PERIOD, table[${place}].${prefix}rotation, direction,
                query_key_value + ${row} * ${PREFIX}QUERY_STRIDE);
}
% end
