% local is_library = cuda.products == "library"
% local gradient_bytes = is_library and "GRADIENT_BYTES" or "PARAMETER_STORAGE * sizeof(real)"
% local memory_words = is_library and "more_sums" or "the workspace"
% local sums_address = is_library and "(real *)more_sums()" or "b->work.more_sums"
% local sums_memory = is_library and "more_sums()" or "(char *)(real *)" .. sums_address
/* Makes the arrays of b->sums point into `memory`. Called by one thread. */
INLINE void direct_sums(block_state *b, char *memory) {
    size_t used = 0;
    lay_out_sums(&b->sums, memory, &used, b->view.T);
}

/* The memory of the shard's table_sums, after the shard's gradient. */
INLINE char *shard_sums(void) { return (char *)(${cuda.gradients} *)block()->gradient + ${gradient_bytes}; }

% if is_library then
/* The memory for the table_sums of one repetition of a layer, after the shard's sums. */
INLINE char *more_sums(void) { return shard_sums() + sum_bytes(block()->view.T); }

% end
/* Called before every repetition of a layer except the last. Clears the sums in ${memory_words}, and makes b->sums point to them. */
INLINE void begin_more_sums(void) {
    block_state *b = block();
    clear_numbers((int)(sum_bytes(b->view.T) / sizeof(real)), ${sums_address});
    if (threadIdx.x == 0) direct_sums(b, ${sums_memory});
    __syncthreads();
}

/* Called after such a repetition. Adds its sums to the shard's sums, and makes b->sums point to the shard's sums. */
INLINE void end_more_sums(void) {
    block_state *b = block();
    add_numbers((int)(sum_bytes(b->view.T) / sizeof(real)), ${sums_address}, (real *)shard_sums());
    if (threadIdx.x == 0) direct_sums(b, shard_sums());
    __syncthreads();
}
