% local stream_index = stream.index
% local first = positions.first == 1 and PREFIX .. "FIRST_POSITION" or "0"
% local range = PREFIX .. "MAX_POSITION" .. (positions.first == 1 and " - 1" or "")
static size_t ${prefix}draw_count(const lh_shape *shape) {
    return (size_t)shape->sequences * (size_t)shape->length[${stream_index}];
}

/* Samples the positions of every sequence, or copies given positions. */
static void ${prefix}draw(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
        const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out) {
    const int T = shape->length[${stream_index}];
    for (int s = 0; s < shape->sequences; s++, out += T)
        if (positions[${stream_index}]) memcpy(out, positions[${stream_index}], (size_t)T * sizeof(int));
        else lh_draw_sequence(from, ${stream_index}, from->first + (uint32_t)s, ${first}, ${range}, T, ${positions.sorted_text}, out, scratch);
}
