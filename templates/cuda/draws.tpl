% for i, draw in ipairs(cuda.host_draws) do
% if i > 1 then

% end
% include(draw.template, draw.names)
% end
% if cuda.host_draws[2] then

static size_t draw_count(const lh_shape *shape) {
    size_t count = 0;
    count += ${draw.prefix}draw_count(shape); % for _, draw in ipairs(cuda.host_draws)
    return count;
}

static void draw(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
        const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out) {
% for _, draw in ipairs(cuda.host_draws) do
    ${draw.prefix}draw(from, shape, positions, distances, scratch, out);
    out += ${draw.prefix}draw_count(shape);
% end
}
% end
