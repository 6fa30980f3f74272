% -- Vectors of distances, copied from the rows of a learned table.
% section("set_rows")
a.rows = v->shared.${prefix}rows + ((size_t)l * ${attends.distance_count}(${attends.T_of_view}, ${attends.S_of_view})${inline("offset_of_row_0", "")}) * ${PREFIX}HEAD_WIDTH${attends.channel};
% section("most_distances")
/* The number of vectors of distances, at any length: one for every row of the table. */
INLINE int ${prefix}distance_count(int T, int S) { return ${rows.rows_text}; }
% section("shared_tables")
reals ${prefix}rows; /* [${stack.count}][distances][${PREFIX}HEAD_WIDTH] vectors of distances */
% section("lay_out_tables")
t->${prefix}rows = reserve_reals(memory, &used, ${stack.count} * ${attends.vector_count} * ${PREFIX}HEAD_WIDTH);
% section("table_sums")
reals ${prefix}rows; /* [${stack.count}][${PREFIX}HEADS][distances][${PREFIX}HEAD_WIDTH] gradients of the vectors of distances */
% section("lay_out_sums")
sums->${prefix}rows = reserve_reals(memory, used, ${stack.count} * ${attends.vector_count} * ${PREFIX}HEADS * ${PREFIX}HEAD_WIDTH);
% section("make_tables")
% if terms.by_offset then
% slot("distance_of_row")
/* The row of the table for a distance. A distance below -CLIP has the row of -CLIP, and a distance above ${rows.farthest} that of ${rows.farthest}. */
INLINE int ${prefix}table_row(int distance) {
    int near = distance < ${rows.farthest} ? distance : ${rows.farthest};
    return (near > -${PREFIX}CLIP ? near : -${PREFIX}CLIP) + ${PREFIX}CLIP;
}

% end
/* Copies the vectors of distances of all layers from their tables. */
NOINLINE void ${prefix}make_rows(const step_view *v, int first, int stride) {
    const int count = ${attends.distance_count}(${attends.T_of_view}, ${attends.S_of_view});
    for (int e = first; e < ${stack.count} * count * ${PREFIX}HEAD_WIDTH; e += stride) {
        const int l = e / ${PREFIX}HEAD_WIDTH / count, x = e / ${PREFIX}HEAD_WIDTH % count;
        const int row = ${inline("table_row", "x")};
        v->shared.${prefix}rows[e] = v->p->${attends.block}[l].${prefix}relative_table[row * ${PREFIX}HEAD_WIDTH + e % ${PREFIX}HEAD_WIDTH];
    }
}

${prefix}make_rows(v, t->rank * THREADS + (int)threadIdx.x, t->blocks * THREADS); % section("begin_tables")
% section("end_tables")
const int ${prefix}count = ${attends.distance_count}(${attends.T_of_view}, ${attends.S_of_view});
const int ${prefix}elements = ${stack.count} * (${rows.rows_text}) * ${PREFIX}HEAD_WIDTH;
for (int e = t->rank * THREADS + (int)threadIdx.x; e < ${prefix}elements; e += t->blocks * THREADS) {
    const int l = e / ${PREFIX}HEAD_WIDTH / (${rows.rows_text}),
            row = e / ${PREFIX}HEAD_WIDTH % (${rows.rows_text}), d = e % ${PREFIX}HEAD_WIDTH;
    real sum = 0;
    % slot("sum_of_row")
    g->${attends.block}[l].${prefix}relative_table[row * ${PREFIX}HEAD_WIDTH + d] = sum * ${PREFIX}LOGIT_SCALE;
}
${rows.rows_text} % section("count_of_distances")
-${PREFIX}CLIP, ${rows.farthest}, true % section("limits_of_distances")
