% -- Rotation of queries and keys by their positions.
% local differs_by_sequence, rotate = positions.kind == "sequence", "rotate_" .. name
% local query_positions = differs_by_sequence and "w->" .. queries.stream_prefix .. "position + s * T" or "position"
% local key_positions = differs_by_sequence and "w->" .. keys.stream_prefix .. "position + s * S" or "key_position"
% local from, row = is_decoded and "from" or "0", is_decoded and "(t - from)" or "t"
% section("heads") % if positions.kind == "randomized"
const shared *drawn = w->step->shared;
const int32_t *position = drawn->${prefix}position[${positions.layer_index}];
const int32_t *key_position = drawn->${prefix}key_position[${positions.layer_index}];
% section("rotate")
% call(rotate, "w", query_positions, is_decoded and "from", is_decoded and "from + count" or "T", PREFIX .. "QUERY_STRIDE", 1, query_pointer)
${is_decoded and "if (from == 0) " or ""}${invoke(rotate, "w", key_positions, is_decoded and "0", "S", K, 1, "key_value")}; % if cross
% section("rotate_back")
% call(rotate, "w", query_positions, is_decoded and "0", "T", PREFIX .. "QUERY_STRIDE", "-1", "d" .. query_pointer)
% call(rotate, "w", key_positions, is_decoded and "0", "S", PREFIX .. "KEY_STRIDE", "-1", "dkey_value") % if cross
% section("rotation_functions")

% local place = positions.kind == "index" and "t" or "position[t]"
/* Rotates rows of queries${cross and ", or of keys," or " and keys"} of one sequence by their positions. direction: 1, or -1 to rotate gradients back.${is_decoded and " rows: the rows of tokens [from, to)." or ""} */
% define("INLINE void " .. rotate, "const workspace *w", "const int32_t *position", is_decoded and "int from", "int to", "const int stride", "const int direction", "real *restrict rows")
    const position_row *table = w->step->tables;
    for (int t = ${from}; t < to; t++)
        rotate_row(${cross and "WIDTH" or "2 * WIDTH"}, ${PREFIX}ROTATION_PERIOD, table[${place}].${prefix}rotation, direction,
                rows + ${row} * stride);
}
