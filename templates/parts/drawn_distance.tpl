% if positions.distance.independent then
/* The signed distance of a pair, offset = key - query, from a draw whose sides are independent: Ruoss et al. 2023.
 * distance: the middle of the draw. */
INLINE int ${prefix}drawn_distance(const int32_t *distance, int offset) { return distance[offset]; }
% elseif positions.distance.kind == "drawn" then
/* The signed distance of a pair, offset = key - query, from a draw: Ruoss et al. 2023. */
INLINE int ${prefix}drawn_distance(const int32_t *distance, int offset) { return offset < 0 ? -distance[-offset] : distance[offset]; }
% elseif positions.distance.kind == "clamped" then
/* The distance of a pair, offset = key - query, from a draw, as Ruoss et al.'s released code reads its table: keys to
 * the right and the query itself have equal distances. */
INLINE int ${prefix}drawn_distance(const int32_t *distance, int offset) {
    return offset < 0 ? ${PREFIX}MAX_POSITION - distance[-offset] : ${PREFIX}MAX_POSITION - 1;
}
% end
