/* Sets the block's view of a step or evaluation. Called by one thread. */
INLINE void view_step(block_state *b, const lh_cuda_step *in, const void *p${tables and ", const void *tables" or ""}${cuda.has_shared_tables and ", char *shared" or ""}) {
    step_view *v = &b->view;
    assume_global(in);
    b->step = *in;
    v->p = (const parameters *)p;
    v->tables = (const position_row *)tables; % if tables
    v->${stream.T} = in->T[${stream.index}]; % for _, stream in ipairs(device.streams)
    v->pass_counts = in->draws; /* `draws` begins with the number of passes and the number of passes without gradient */ % if device.has_passes
    v->${draw.member} = ${draw.address}; % for _, draw in ipairs(cuda.step_draws)
    v->label_count = in->label_count;
    lay_out_shared(&v->shared, shared, v->T); % if cuda.has_shared_tables
}

% if cuda.products == "generated" then
/* Assigns `sequences` examples, from `first` on, to the block. Called by one thread. */
INLINE void assign_examples(block_state *b, int first, int sequences, const bool training) {
    b->first = first;
    b->sequences = sequences;
% for _, stream in ipairs(device.streams) do
    b->${stream.tokens} = b->step.tokens[${stream.index}] + (size_t)first * b->view.${stream.T};
% end
    b->labels = b->step.labels + (size_t)first * b->view.label_count;
    b->mask = b->step.mask + (size_t)first * b->view.label_count;
    b->place = b->step.place + (size_t)first * b->view.label_count; % if readout == "probe"
    lay_out(&b->work, b->memory, sequences, b->view.T, b->view.label_count, training);
}

% end
/* Returns the index of a shard's first sequence. The first `sequences` % `shards` shards have one sequence more. */
INLINE int shard_start(int sequences, int shards, int shard) {
    const int rest = sequences % shards;
    return shard * (sequences / shards) + (shard < rest ? shard : rest);
}
% if train.mixes_lengths then

% include("cuda/mixed.tpl")
% end
% if cuda.products == "library" then

% include("cuda/part.tpl")
% end
% if cuda.by_team then

/* Sets the addresses of a shard's stored operands. Called by one thread.
 * partial: the shard's memory; the gradient comes first. */
INLINE void find_operands(block_state *b, char *partial) {
    b->most_sequences = shard_start(b->step.sequences, b->train.shards, 1); /* size of shard 0, the largest shard */
    lay_out_operands(&b->held, partial + PARAMETER_STORAGE * sizeof(real)${cuda.has_table_sums and " + sum_bytes(b->view.T)" or ""}, b->most_sequences, b->view.T);
}
% end
