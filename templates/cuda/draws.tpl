% for i, one in ipairs(cuda.drawing) do
% if i > 1 then

% end
% include(one.template, one.names)
% end
% if cuda.drawing[2] then

static size_t draw_count(const lh_shape *shape) {
    size_t count = 0;
    count += ${one.prefix}draw_count(shape); % for _, one in ipairs(cuda.drawing)
    return count;
}

static void draw(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
        const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out) {
% for _, one in ipairs(cuda.drawing) do
    ${one.prefix}draw(from, shape, positions, distances, scratch, out);
    out += ${one.prefix}draw_count(shape);
% end
}
% end
