% local wide = cuda.products == "library"
% local gradient_bytes = wide and "GRADIENT_BYTES" or "PARAMETER_STORAGE * sizeof(real)"
% local memory = wide and "more_sums" or "the workspace"
% local numbers = wide and "(real *)more_sums()" or "b->work.more_sums"
% local bytes = wide and "more_sums()" or "(char *)(real *)" .. numbers
/* Directs the shard's sums for tables to memory. Called by one thread. */
INLINE void direct_sums(block_state *b, char *memory) {
    size_t used = 0;
    lay_out_sums(&b->sums, memory, &used, b->view.T);
}

/* The shard's sums for tables, after its gradient. */
INLINE char *shard_sums(void) { return (char *)(${cuda.gradients} *)block()->gradient + ${gradient_bytes}; }

% if wide then
/* Sums of one use of a layer, after the shard's. */
INLINE char *more_sums(void) { return shard_sums() + sum_bytes(block()->view.T); }

% end
/* Before a use of a layer that is not the last: sums for tables go to ${memory}, whose numbers are 0. */
INLINE void begin_more_sums(void) {
    block_state *b = block();
    clear_numbers((int)(sum_bytes(b->view.T) / sizeof(real)), ${numbers});
    if (threadIdx.x == 0) direct_sums(b, ${bytes});
    __syncthreads();
}

/* After such a use: adds its sums to the shard's, to which the next sums go again. */
INLINE void end_more_sums(void) {
    block_state *b = block();
    add_numbers((int)(sum_bytes(b->view.T) / sizeof(real)), ${numbers}, (real *)shard_sums());
    if (threadIdx.x == 0) direct_sums(b, shard_sums());
    __syncthreads();
}
