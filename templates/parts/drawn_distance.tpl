% if positions.distance.independent then
/* The signed distance of a pair with key - query = offset. Each side has its own samples (Ruoss et al. 2023).
 * distance: points to the element for offset 0, in the middle of the samples. */
INLINE int ${prefix}drawn_distance(const int32_t *distance, int offset) { return distance[offset]; }
% elseif positions.distance.kind == "drawn" then
/* The signed distance of a pair with key - query = offset, from sampled distances (Ruoss et al. 2023). */
INLINE int ${prefix}drawn_distance(const int32_t *distance, int offset) { return offset < 0 ? -distance[-offset] : distance[offset]; }
% elseif positions.distance.kind == "clamped" then
/* The index of the table's row for a pair with key - query = offset, from sampled distances. As in the released code of
 * Ruoss et al., keys to the right and the query itself share the last row. */
INLINE int ${prefix}drawn_distance(const int32_t *distance, int offset) {
    return offset < 0 ? ${PREFIX}MAX_POSITION - distance[-offset] : ${PREFIX}MAX_POSITION - 1;
}
% end
