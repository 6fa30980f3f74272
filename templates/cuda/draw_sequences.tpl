% local first = positions.first == 1 and PREFIX .. "FIRST_POSITION" or "0"
% local range = PREFIX .. "MAX_POSITION" .. (positions.first == 1 and " - 1" or "")
static int draw_count(const lh_shape *shape) { return shape->length[0]; }

static void draw_sequences(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
        int *scratch, int *out) {
    const int T = shape->length[0];
    for (int s = 0; s < shape->sequences; s++, out += T)
        if (positions[0]) memcpy(out, positions[0], (size_t)T * sizeof(int));
        else lh_draw_sequence(from, 0, (uint32_t)s, ${first}, ${range}, T, ${positions.sorted_text}, out, scratch);
}
