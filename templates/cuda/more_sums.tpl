/* Directs the shard's sums for tables to memory. Called by one thread. */
INLINE void direct_sums(block_state *b, char *memory) {
    size_t used = 0;
    lay_out_sums(&b->sums, memory, &used, b->view.T);
}

/* The shard's sums for tables, after its gradient. */
INLINE char *shard_sums(void) { return (char *)(parameters *)block()->gradient + PARAMETER_STORAGE * sizeof(real); }

/* Before a use of a layer that is not the last: sums for tables go to the workspace, whose numbers are 0. */
INLINE void begin_more_sums(void) {
    block_state *b = block();
    clear_numbers((int)(sum_bytes(b->view.T) / sizeof(real)), b->work.more_sums);
    if (threadIdx.x == 0) direct_sums(b, (char *)(real *)b->work.more_sums);
    __syncthreads();
}

/* After such a use: adds its sums to the shard's, to which the next sums go again. */
INLINE void end_more_sums(void) {
    block_state *b = block();
    add_numbers((int)(sum_bytes(b->view.T) / sizeof(real)), b->work.more_sums, (real *)shard_sums());
    if (threadIdx.x == 0) direct_sums(b, shard_sums());
    __syncthreads();
}
