% local previous = behind_previous and "those of the " .. behind_previous .. "-attention" or "the struct shared"
% local start = behind_previous and behind_previous .. "_end(shape)" or "(sizeof(shared) + 63) / 64 * 64"
/* The start of the ${name}-attention's tables, after ${previous}, in bytes from the start of the struct shared. */
INLINE size_t ${name}_start(const lh_shape *shape) { return ${start}; }
