/* Turns queries and keys of one sequence by their positions: direction 1; turns their gradients back: -1. */
% if positions.kind == "sequence" then
INLINE void rotate(const lh_cpu_step *step, const int32_t *position, int T, const int direction,
        real *restrict query_key_value) {
    const position_row *table = step->tables;
    for (int t = 0; t < T; t++)
        rotate_row(2 * WIDTH, ROTATION_PERIOD, table[position[t]].rotation, direction,
                query_key_value + t * QUERY_STRIDE);
}
% else
INLINE void rotate(const lh_cpu_step *step, int l, int T, const int direction, real *restrict query_key_value) {
    const position_row *table = step->tables;
% if positions.kind == "randomized" then
    const int32_t *position = ((const shared *)step->shared)->position[${rotation.draw}];
% if rotation.draw == "0" then
    (void)l;
% end
    for (int t = 0; t < T; t++)
        rotate_row(2 * WIDTH, ROTATION_PERIOD, table[position[t]].rotation, direction,
                query_key_value + t * QUERY_STRIDE);
% else
    (void)l;
    for (int t = 0; t < T; t++)
        rotate_row(2 * WIDTH, ROTATION_PERIOD, table[t].rotation, direction, query_key_value + t * QUERY_STRIDE);
% end
}
% end
