% for i, family in ipairs(cuda.drawing) do
% if i > 1 then

% end
% include("cuda/family_draws.tpl", family)
% end
% if cuda.drawing[2] then

static int draw_count(const lh_shape *shape) {
    int count = 0;
% for _, family in ipairs(cuda.drawing) do
    count += ${family.prefix}draw_count(shape);
% end
    return count;
}

static void draw(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
        const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out) {
% for _, family in ipairs(cuda.drawing) do
    ${family.prefix}draw(from, shape, positions, distances, scratch, out);
    out += ${family.prefix}draw_count(shape);
% end
}
% end
