% if behind_previous then
/* The start of the ${name}-attention's tables: after those of the ${behind_previous}-attention. */
% else
/* The start of the ${name}-attention's tables: after the struct shared. */
% end
INLINE size_t ${name}_start(const lh_shape *shape) {
% if behind_previous then
    return ${behind_previous}_end(shape);
% else
    return (sizeof(shared) + 63) / 64 * 64;
% end
}
