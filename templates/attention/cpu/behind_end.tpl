/* The end of the ${name}-attention's tables. */
INLINE size_t ${name}_end(const lh_shape *shape) {
% if terms.tables then
% local start = terms.made and name .. "_score_start" or name .. "_start"
% local sets = terms.scalar.sets > 1 and PREFIX .. "SCORE_SETS * " or ""
    return ${start}(shape) + ${sets}${name}_score_bytes(${of_shape});
% else
    return (${name}_start(shape) + ${name}_relative_bytes(${of_shape}) + 63) / 64 * 64;
% end
}
