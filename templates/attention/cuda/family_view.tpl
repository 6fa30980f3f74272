% local drawn_tokens = cross and "(v->" .. attends.T .. " + v->" .. attends.S .. ")" or "v->" .. attends.T
% local distance = positions.distance
% if attends.has_later_draws then

/* The number of integers that the host samples or sorts for this attention. */
INLINE size_t ${prefix}draw_count(const step_view *v) {
    % slot("count_pairs")
    return ${attends.draw_rows} * (size_t)${drawn_tokens}${inline("and_pairs", "")};
}
% end
% if distance.draws then

% include("parts/drawn_distance.tpl")
% end
% if positions.layer_index and attends.reads_positions then

/* The sampled positions${cross and " of queries" or ""} that layer l reads. */
INLINE const int *${prefix}find_positions(const step_view *v, int l) { return v->${prefix}draws${attends.position_offset}; }
% if cross then

/* The sampled positions of keys that layer l reads. */
INLINE const int *${prefix}find_key_positions(const step_view *v, int l) {
    return v->${prefix}draws + ${PREFIX}DRAWS * v->${attends.T}${attends.key_position_offset};
}
% end
% end
% if distance.draws then

/* The address of the sample for offset 0, in the middle of the sampled distances that layer l reads. */ % if distance.independent
/* The sampled distances, ascending from 0, that layer l reads. */ % else
INLINE const int *${prefix}find_distances(const step_view *v, int l) { return v->${prefix}draws${attends.distance_offset}; }
% end
% slot("view", { drawn_tokens = drawn_tokens })
