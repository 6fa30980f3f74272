% local after_previous = behind_previous and "those of the " .. behind_previous .. "-attention behind " or ""
% local start = behind_previous and behind_previous .. "_end(shape)" or "(sizeof(shared) + 63) / 64 * 64"
/* The start of the ${name}-attention's tables, after ${after_previous}the struct shared, in bytes from the start of this struct. */
INLINE size_t ${name}_start(const lh_shape *shape) { return ${start}; }
