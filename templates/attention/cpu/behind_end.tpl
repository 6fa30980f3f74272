/* Where they end. */
INLINE size_t ${name}_end(const lh_shape *shape) {
% if terms.scaled then
    return ${name}_score_start(shape) + ${PREFIX}SCORE_SETS * ${name}_score_bytes(${of_shape});
% else
    return (${name}_start(shape) + ${name}_relative_bytes(${of_shape}) + 63) / 64 * 64;
% end
}
