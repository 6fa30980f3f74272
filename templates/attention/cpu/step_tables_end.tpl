/* The end of the ${name}-attention's tables, in bytes from the start of the struct shared. */
INLINE size_t ${name}_end(const lh_shape *shape) {
    return ${score_start}(shape) + ${terms.scalar.times_sets}${name}_score_bytes(${shape_lengths}); % if terms.reads_tables
    return (${name}_start(shape) + ${name}_relative_bytes(${shape_lengths}) + 63) / 64 * 64; % else
}
