% local drawn_tokens = cross and ("(v->%s + v->%s)"):format(attends.T, attends.S) or "v->" .. attends.T
% if attends.draws_before then

/* How many numbers are drawn for it. */
INLINE size_t ${prefix}draw_count(const step_view *v) {
% if relative.kind ~= "none" and not relative.toeplitz then
    ${prefix}pair_rows r;
    const size_t pairs = ${PREFIX}RELATIVE_SETS * ${prefix}lay_out_pair_rows(&r, (const int *)0, ${attends.lengths_of_view});
    return ${attends.draw_rows} * (size_t)${drawn_tokens} + pairs;
% else
    return ${attends.draw_rows} * (size_t)${drawn_tokens};
% end
}
% end
% if positions.distance.draws then

% include("parts/drawn_distance.tpl")
% end
% if positions.layer_index and attends.reads_positions then

/* The drawn positions that layer l reads. */
INLINE const int *${prefix}positions_of(const step_view *v, int l) {
% if positions.layer_index == "0" then
    (void)l;
% end
    return v->${prefix}draws + (${positions.layer_index}) * v->${attends.T};
}
% if cross then

/* Those of the keys. */
INLINE const int *${prefix}key_positions_of(const step_view *v, int l) {
% if positions.layer_index == "0" then
    (void)l;
% end
    return v->${prefix}draws + ${PREFIX}DRAWS * v->${attends.T} + (${positions.layer_index}) * v->${attends.S};
}
% end
% end
% if positions.distance.draws then

% if positions.distance.independent then
/* The middle of the drawn distances that layer l reads. */
% else
/* The drawn distances that layer l reads, ascending from 0. */
% end
INLINE const int *${prefix}distances_of(const step_view *v, int l) {
% if positions.distance.layer_index == "0" then
    (void)l;
% end
% if positions.distance.independent then
    return v->${prefix}draws + (${attends.first_distances} + 2 * ${positions.distance.layer_index} + 1) * v->${attends.T};
% else
    return v->${prefix}draws + (${attends.first_distances} + ${positions.distance.layer_index}) * v->${attends.T};
% end
}
% end
% if relative.kind ~= "none" and not relative.toeplitz then

/* The vectors of the pairs of layer l. */
INLINE ${prefix}pair_rows ${prefix}pair_rows_of(const step_view *v, int l) {
    ${prefix}pair_rows r;
    const size_t size = ${prefix}lay_out_pair_rows(&r, (const int *)0, ${attends.lengths_of_view});
    ${prefix}lay_out_pair_rows(&r, v->${prefix}draws + ${attends.draw_rows} * ${drawn_tokens} + (${PREFIX}RELATIVE_SETS > 1 ? l : 0) * size, ${attends.lengths_of_view});
    return r;
}

/* How many vectors they are. */
INLINE int ${prefix}row_count(const step_view *v, int l) { return *${prefix}pair_rows_of(v, l).count; }
% elseif relative.biases then

INLINE int ${prefix}row_count(const step_view *v, int) { return ${prefix}distance_count(${attends.lengths_of_view}); }
% end
% if score.kind ~= "none" then
% local of_layer = score.per_layer and (" + (size_t)l * %sscore_bytes(%s)"):format(prefix, attends.lengths_of_view) or ""

/* The tables that layer l's score reads. */
INLINE void ${prefix}score_tables_of(const step_view *v, int l, ${prefix}score_tables *s) {
    size_t used = 0;
% if not score.per_layer then
    (void)l;
% end
    ${prefix}lay_out_score(s, v->shared.${prefix}score${of_layer}, &used, ${attends.lengths_of_view});
}
% end
