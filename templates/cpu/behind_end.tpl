/* Where they end. */
INLINE size_t ${name}_end(const lh_shape *shape) {
% if score.kind ~= "none" then
    return ${name}_score_start(shape) + ${PREFIX}SCORE_SETS * ${name}_score_bytes(shape->length[${queries.stream}]);
% else
    return (${name}_start(shape) + ${name}_relative_bytes(shape->length[${queries.stream}]) + 63) / 64 * 64;
% end
}
