% local first = positions.first == 1 and PREFIX .. "FIRST_POSITION" or "0"
% local range = PREFIX .. "MAX_POSITION" .. (positions.first == 1 and " - 1" or "")
% local site = first_site > 0 and " + " .. first_site or ""
% if positions.kind == "randomized" then
/* Draw d of this step: ${positions.about}. */
static void draw_${name}_positions(const lh_cpu_step *step, int d) {
    shared *s = step->shared;
    int T = step->shape.length[${queries.stream}];
    if (step->positions[0]) memcpy(s->${prefix}position[d], step->positions[0], (size_t)T * sizeof(int32_t));
    else
        lh_draw_positions(&step->draw, (uint32_t)d${positions.site_offset}${site}, ${first}, ${range}, T, ${positions.sorted_text},
                s->${prefix}position[d], s->${prefix}scratch[d]);
}

% end
% if positions.distance.draws then
/* Draw d of this step's distances: ${positions.distance.about}. */
static void draw_${name}_distances(const lh_cpu_step *step, int d) {
    shared *s = step->shared;
    int T = step->shape.length[${queries.stream}];
% if positions.distance.independent then
    int32_t *middle = s->${prefix}distance[d] + ${PREFIX}MAX_POSITION;
    if (step->distances[0])
        for (int i = 0; i < T; i++) {
            middle[i] = step->distances[0][i];
            middle[-i] = -step->distances[0][i];
        }
    else
        lh_draw_signed_distances(&step->draw, (uint32_t)d${positions.distance.site_offset}${site}, ${PREFIX}MAX_POSITION, T,
                middle, s->${prefix}distance_scratch[d]);
% else
    if (step->distances[0]) memcpy(s->${prefix}distance[d], step->distances[0], (size_t)T * sizeof(int32_t));
    else
        lh_draw_distances(&step->draw, (uint32_t)d${positions.distance.site_offset}${site}, ${PREFIX}MAX_POSITION, T,
                s->${prefix}distance[d], s->${prefix}distance_scratch[d]);
% end
}

% end
% if relative.behind then
% include("cpu/relative_step.tpl")

% end
