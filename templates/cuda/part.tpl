/* Arrays of all sequences, from that of sequence `first` on. */
% for _, block in ipairs(device.blocks) do
INLINE void shift_${block.name}(${block.state} *s, int first, int T) {
    const size_t rows = (size_t)first * T;
% for _, m in ipairs(block.members) do
% local count = m.each and "rows * " .. m.each or "rows"
    s->${m.name} += ${count};
% end
}

% end
/* Arrays with numbers in front of [sequences], and masks, lie shard behind shard, each as if it were alone. */
INLINE void shift_work(workspace *w, int first, int T, int label_count, const bool training) {
    const size_t rows = (size_t)first * T, labels = (size_t)first * label_count;
% for _, m in ipairs(device.always) do
% local count = m.each and "rows * " .. m.each or "rows"
    w->${m.name} += ${count};
% end
    w->logits += labels * CLASS_COLUMNS;
    w->losses += labels;
    w->correct += labels;
% if eval_dropout then
    w->keep += DROPOUT_SITES * rows * (WIDTH / 8);
% end
    if (!training) return;
% if dropouts[1] and not eval_dropout then
    w->keep += DROPOUT_SITES * rows * (WIDTH / 8);
% end
% for _, m in ipairs(device.training) do
% local count = m.each and "rows * " .. m.each or "rows"
    w->${m.name} += ${count};
% end
}

/* Of `all` sequences, which are those of the batch from sequence `group` on, makes part `index` of `parts` the block's,
 * with what the place's layer keeps. By one thread. */
INLINE void take_part(block_state *b, int group, int all, int parts, int index, char *memory, lh_cuda_place at,
        const bool training) {
    const int T = b->view.T, label_count = b->view.label_count, first = shard_start(all, parts, index);
    const size_t in_batch = group + first;
    b->first = in_batch;
    b->sequences = shard_start(all, parts, index + 1) - first;
    b->l = at.layer;
    b->tokens = b->step.tokens[0] + in_batch * T;
    b->labels = b->step.labels + in_batch * label_count;
    b->mask = b->step.mask + in_batch * label_count;
    lay_out(&b->work, memory, all, T, label_count, training);
    shift_work(&b->work, first, T, label_count, training);
% for _, block in ipairs(device.blocks) do
    {
        const size_t step = ${block.name}_bytes(all, T);
        const int kept = training ? at.layer : 0;
        size_t used = kept * step;
        lay_out_${block.name}(&b->${block.name}, b->work.${block.name}s, &used, all, T);
        shift_${block.name}(&b->${block.name}, first, T);
        b->input = kept > 0 ? b->${block.name}.output - step / sizeof(real) : ${block.first};
% if block.in_place then
        if (!training) b->${block.name}.output = ${block.first};
% else
        if (!training && at.layer > 0) b->input = b->${block.name}.output;
% end
    }
% end
}
