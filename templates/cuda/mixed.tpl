% local part_lengths = streams[2] and "{b->parts[i].T[0], b->parts[i].T[1]}" or "b->parts[i].T[0]"
/* The number of shards of a part that has `sequences` sequences. All sequences of a shard come from one part. */
INLINE int count_shards(const block_state *b, int sequences) {
    return (sequences + b->largest_shard - 1) / b->largest_shard;
}

% if cuda.has_shared_tables then
/* Sets the block's view to a part of the step. The tables of parts lie one after the other. Called by one thread. */
INLINE void view_part(block_state *b, int part) {
    shared_tables tables;
    size_t before = 0;
    for (int i = 0; i < part; i++) before += lay_out_shared(&tables, NULL, ${part_lengths});
    view_step(b, b->parts + part, b->replica.parameters${tables and ", b->train.tables" or ""}, b->replica.shared + before);
}
% else
/* Sets the block's view to a part of the step. Called by one thread. */
INLINE void view_part(block_state *b, int part) {
    view_step(b, b->parts + part, b->replica.parameters${tables and ", b->train.tables" or ""});
}
% end

/* Sets the block's view to the part of the step that contains a shard, and returns the shard's index in this
 * part. Called by one thread. */
INLINE int view_shard(block_state *b, int shard) {
    int part = 0;
    for (; shard >= count_shards(b, b->parts[part].sequences); part++)
        shard -= count_shards(b, b->parts[part].sequences);
    view_part(b, part);
    return shard;
}

% if cuda.has_begin_step or cuda.has_table_sums then
/* Sets the block's view to a part of the step. Called by all threads. */
INLINE void enter_part(int part) {
    __syncthreads();
    if (threadIdx.x == 0) view_part(block(), part);
    __syncthreads();
}

% end
/* Begins the step with index `n` in the launch: cuts its parts into shards${cuda.has_begin_step and ", and makes the tables of each part" or ""}.
 * A shard has at most 1 / `shards` of the step's sequences, rounded up. */
INLINE void begin_parts(int n, int shards) {
    block_state *b = block();
    __syncthreads();
    if (threadIdx.x == 0) {
        int sequences = 0;
        b->parts = b->train.steps + n * PARTS;
        for (int part = 0; part < PARTS; part++) sequences += b->parts[part].sequences;
        b->largest_shard = (sequences + shards - 1) / shards;
        b->train.shards = 0;
        for (int part = 0; part < PARTS; part++) b->train.shards += count_shards(b, b->parts[part].sequences);
        view_part(b, 0);
    }
    __syncthreads();
% if cuda.has_begin_step then
    for (int part = 0; part < PARTS && b->parts[part].sequences > 0; part++) {
        enter_part(part);
        begin_step();
    }
% end
}
