% -- Random positions and distances of a step.
% paragraph("parts/drawn_distance.tpl") % section("distances") % if positions.distance.draws
% section("step_functions")
% if positions.kind == "randomized" then
/* Makes draw d of this step's positions. Draws: ${positions.sharing}. */
static void draw_${name}_positions(const lh_cpu_step *step, int d) {
    shared *s = step->shared;
    const int T = step->shape.length[${queries.stream}], S = step->shape.length[${keys.stream}];
    lh_draw_or_copy_positions(step->positions[${side.stream}], &step->draw, (uint32_t)d${side.site}, % for _, side in ipairs(sides) do
            ${first_drawn}, ${range_drawn}, ${side.count}, ${positions.sorted_text},
            s->${prefix}${side.member}[d], s->${prefix}scratch[d]);
}

% end
% if positions.distance.draws then
% local draw_or_copy = "lh_draw_or_copy_" .. (positions.distance.independent and "signed_" or "") .. "distances"
/* Makes draw d of this step's distances. Draws: ${positions.distance.sharing}. */
static void draw_${name}_distances(const lh_cpu_step *step, int d) {
    shared *s = step->shared;
    int T = step->shape.length[${queries.stream}];
    ${draw_or_copy}(step->distances[${queries.stream}], &step->draw, (uint32_t)d${distance_site}, ${PREFIX}MAX_POSITION, T,
            s->${prefix}distance[d]${to_zero_distance}, s->${prefix}distance_scratch[d]);
}

% end
% section("begin")
for (int d = part; d < ${PREFIX}DRAWS; d += parts) { % if positions.kind == "randomized" then
    draw_${name}_positions(step, d);
    % slot("after_positions")
}
for (int d = part; d < ${PREFIX}DISTANCE_DRAWS; d += parts) { % if positions.distance.draws then
    draw_${name}_distances(step, d);
    % slot("after_distances")
}
