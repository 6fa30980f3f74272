% local T, S = "shape->length[" .. queries.stream .. "]", "shape->length[" .. keys.stream .. "]"
% local tokens = cross and "(" .. T .. " + " .. S .. ")" or T
% local is_signed = attends.distance_rows > 1
% local draw_or_copy = "lh_draw_or_copy_" .. (is_signed and "signed_" or "") .. "distances"
% local width = is_signed and "2 * T" or "T"
% local given_distances = ("distances[%d], from, (uint32_t)d%s"):format(queries.stream, distance_site)
% slot("pairs_of_draw", { T_of_shape = T, S_of_shape = S })
static size_t ${prefix}draw_count(const lh_shape *shape) { return ${attends.draw_rows} * (size_t)${tokens}; } % if not terms.by_pair

/* Samples the positions and distances of this attention, or copies given ones. */
static void ${prefix}draw(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
        const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out) {
    const int T = shape->length[${queries.stream}], S = shape->length[${keys.stream}];
    % slot("begin_draw")
    for (int d = 0; d < ${PREFIX}DRAWS; d++, out += ${side.count}) { % for _, side in ipairs(sides) do
        lh_draw_or_copy_positions(positions[${side.stream}], from, (uint32_t)d${side.site}, ${first_drawn}, ${range_drawn},
                ${side.count}, ${positions.sorted_text}, out, scratch);
    }
    for (int d = 0; d < ${PREFIX}DISTANCE_DRAWS; d++, out += ${width}) { % if attends.distance_draws > 0 then
        out[0] = 0; /* belongs to no pair */ % if is_signed
        ${draw_or_copy}(${given_distances}, ${PREFIX}MAX_POSITION, T, ${is_signed and "out + T" or "out"}, scratch);
    }
    % slot("end_draw")
}
