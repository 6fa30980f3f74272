% if behind_previous then
/* Where the ${name}-attention's tables begin: behind those of the ${behind_previous}-attention. */
% else
/* Where the ${name}-attention's tables begin: behind the struct shared. */
% end
INLINE size_t ${name}_start(const lh_shape *shape) {
% if behind_previous then
    return ${behind_previous}_end(shape);
% else
    return (sizeof(shared) + 63) / 64 * 64;
% end
}
