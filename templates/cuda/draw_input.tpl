% local stream_index = stream.index
% local first = positions.first == 1 and PREFIX .. "FIRST_POSITION" or "0"
% local range = PREFIX .. "MAX_POSITION" .. (positions.first == 1 and " - 1" or "")
static size_t ${prefix}draw_count(const lh_shape *shape) { return (size_t)shape->length[${stream_index}]; }

/* Samples the positions of the tokens of the ${stream.name}, or copies given positions; their vectors are added to the tokens. */
static void ${prefix}draw(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
        const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out) {
    const int T = shape->length[${stream_index}];
    lh_draw_or_copy_positions(positions[${stream_index}], from, ${stream.first_site}, ${first}, ${range}, T, ${positions.sorted_text}, out,
            scratch);
}
