% local previous = previous_step_tables and "those of the " .. previous_step_tables .. "-attention" or "the struct shared"
% local start = previous_step_tables and previous_step_tables .. "_end(shape)" or "(sizeof(shared) + 63) / 64 * 64"
/* The start of the ${name}-attention's tables, after ${previous}, in bytes from the start of the struct shared. */
INLINE size_t ${name}_start(const lh_shape *shape) { return ${start}; }
