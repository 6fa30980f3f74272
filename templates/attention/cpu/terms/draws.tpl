% paragraph("parts/drawn_distance.tpl") % section("distances") % if positions.distance.draws
% section("step_functions")
% if positions.kind == "randomized" then
/* Makes draw d of this step's positions: ${positions.about}. */
static void draw_${name}_positions(const lh_cpu_step *step, int d) {
    shared *s = step->shared;
    const int T = step->shape.length[${queries.stream}], S = step->shape.length[${keys.stream}];
% for _, side in ipairs(sides) do
    if (step->positions[${side.stream}]) memcpy(s->${prefix}${side.member}[d], step->positions[${side.stream}],
            (size_t)${side.count} * sizeof(int32_t));
    else
        lh_draw_positions(&step->draw, (uint32_t)d${side.site}, ${first_drawn}, ${range_drawn}, ${side.count}, ${positions.sorted_text},
                s->${prefix}${side.member}[d], s->${prefix}scratch[d]);
% end
}

% end
% if positions.distance.draws then
/* Makes draw d of this step's distances: ${positions.distance.about}. */
static void draw_${name}_distances(const lh_cpu_step *step, int d) {
    shared *s = step->shared;
    int T = step->shape.length[${queries.stream}];
% if positions.distance.independent then
    int32_t *middle = s->${prefix}distance[d] + ${PREFIX}MAX_POSITION;
    if (step->distances[${queries.stream}])
        for (int i = 0; i < T; i++) {
            middle[i] = step->distances[${queries.stream}][i];
            middle[-i] = -step->distances[${queries.stream}][i];
        }
    else
        lh_draw_signed_distances(&step->draw, (uint32_t)d${distance_site},
                ${PREFIX}MAX_POSITION, T,
                middle, s->${prefix}distance_scratch[d]);
% else
    if (step->distances[${queries.stream}]) memcpy(s->${prefix}distance[d], step->distances[${queries.stream}], (size_t)T * sizeof(int32_t));
    else
        lh_draw_distances(&step->draw, (uint32_t)d${distance_site}, ${PREFIX}MAX_POSITION, T,
                s->${prefix}distance[d], s->${prefix}distance_scratch[d]);
% end
}

% end
% section("begin")
% if terms.after_positions then
for (int d = part; d < ${PREFIX}DRAWS; d += parts) {
    draw_${name}_positions(step, d);
    % slot("after_positions")
}
% elseif positions.kind == "randomized" then
for (int d = part; d < ${PREFIX}DRAWS; d += parts) draw_${name}_positions(step, d);
% end
for (int d = part; d < ${PREFIX}DISTANCE_DRAWS; d += parts) { % if positions.distance.draws then
    draw_${name}_distances(step, d);
    % slot("after_distances")
}
