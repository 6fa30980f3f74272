% -- Vectors of distances if the distance of a pair depends only on query - key: one row for each difference.
const real *rows; /* the row of query - key = 0; rows have ${PREFIX}HEAD_WIDTH channels */ % section("members")
 + v->${attends.S} - 1 % section("offset_of_row_0")
% section("row_of_pair")
/* The index of a pair's row, counted from a->rows. */
INLINE int ${prefix}find_row(const ${prefix}head *a, int i, int j) { return i - j; }

% section("view") % if terms.has_biases

INLINE int ${prefix}row_count(const step_view *v, int l) { return ${attends.distance_count}(${attends.T_of_view}, ${attends.S_of_view}); }
% section("distance_count")
/* The number of vectors of distances for T queries and S keys: one for every query - key, from -(S - 1) on. */
INLINE int ${prefix}distance_count(int T, int S) { return T + S - 1; }
% section("distance_of_row")
% local draws_distances, distance = positions.distance.draws, "v->" .. attends.S .. " - 1 - x"
% if draws_distances then
% distance = invoke(prefix .. "drawn_distance", invoke(prefix .. "find_distances", "v", "set"), distance)
% end
/* The signed distance of pairs with query - key = x - (${attends.keys} - 1)${draws_distances and ", from the distances sampled for set `set`" or ""}. */
INLINE int ${prefix}relative_distance(const step_view *v, int set, int x) { return ${distance}; }

${prefix}table_row(${attends.distance_of_row}(v, ${rows.set_of_layer}, x)) % section("table_row")
% section("sum_of_row")
for (int x = 0; x < ${prefix}count; x++) {
    if (${prefix}table_row(${attends.distance_of_row}(v, ${rows.set_of_layer}, x)) != row) continue;
    for (int h = 0; h < ${PREFIX}HEADS; h++) sum += sums.${prefix}rows[(((size_t)l * ${PREFIX}HEADS + h) * ${prefix}count + x) * ${PREFIX}HEAD_WIDTH + d];
}
