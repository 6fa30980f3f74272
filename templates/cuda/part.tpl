% local drops, geometric = dropouts[1] ~= nil, normaliser.kind == "geometric"
/* Arrays of all sequences, from that of sequence `first` on. */
INLINE void shift_layer(layer_state *s, int first, int T) {
    const size_t rows = (size_t)first * T;
    s->query_key_value += rows * QUERY_STRIDE;
% if relative.biases then
    s->key_bias += rows * HEADS;
% end
% if normaliser.directional then
    s->direction += rows * DIRECTION_WIDTH;
% end
% if normaliser.normalised then
    s->inverse_total += rows * HEADS;
% elseif not geometric then
    s->largest += rows * HEADS;
    s->inverse_sum += rows * HEADS;
% end
    s->attended += rows * WIDTH;
    s->xhat1 += rows * WIDTH;
    s->rstd1 += rows;
    s->norm1 += rows * WIDTH;
    s->hidden += rows * FEEDFORWARD;
    s->xhat2 += rows * WIDTH;
    s->rstd2 += rows;
    s->output += rows * WIDTH;
}

/* Masks${geometric and ", query_sums" or ""} and head_sums lie shard behind shard, each as if it were alone. */
INLINE void shift_work(workspace *w, int first, int T, int label_count, const bool training) {
    const size_t rows = (size_t)first * T, labels = (size_t)first * label_count;
    w->input += rows * WIDTH;
    w->branch += rows * WIDTH;
    w->logits += labels * CLASS_COLUMNS;
    w->losses += labels;
    w->correct += labels;
% if eval_dropout then
    w->keep += DROPOUT_SITES * rows * (WIDTH / 8);
% end
    if (!training) return;
% if drops and not eval_dropout then
    w->keep += DROPOUT_SITES * rows * (WIDTH / 8);
% end
    w->gradient += rows * WIDTH;
    w->dbranch += rows * WIDTH;
    w->dattended += rows * WIDTH;
    w->dhidden += rows * FEEDFORWARD;
    w->dquery_key_value += rows * QUERY_STRIDE;
% if normaliser.directional then
    w->ddirection += rows * DIRECTION_WIDTH;
% end
% if geometric then
    w->weights += rows * HEADS * T;
    w->pairs += rows * HEADS * T;
    w->query_sums += QUERY_SUMS * rows * HEADS;
% else
    w->delta += rows * HEADS;
% end
% if relative.biases then
    w->key_sums += rows * HEADS;
% end
% if score.kind ~= "none" and score.cuda.gathers.uniform then
    w->head_sums += ${score.cuda.uniform_count} * rows * HEADS;
% end
}

/* Of `all` sequences, which are those of the batch from sequence `group` on, makes part `index` of `parts` the block's,
 * with layer l of it. By one thread. */
INLINE void take_part(block_state *b, int group, int all, int parts, int index, char *memory, int l,
        const bool training) {
    const int T = b->view.T, label_count = b->view.label_count;
    const int first = shard_start(all, parts, index), kept_layer = training ? l : 0;
    const size_t in_batch = group + first, layer = layer_bytes(all, T);
    size_t used = kept_layer * layer;
    b->first = in_batch;
    b->sequences = shard_start(all, parts, index + 1) - first;
    b->l = l;
    b->tokens = b->step.tokens[0] + in_batch * T;
    b->labels = b->step.labels + in_batch * label_count;
    b->mask = b->step.mask + in_batch * label_count;
    lay_out(&b->work, memory, all, T, label_count, training);
    lay_out_layer(&b->layer, b->work.layers, &used, all, T);
    b->input = b->work.input + (size_t)first * T * WIDTH;
    if (kept_layer > 0) {
        layer_state before;
        used -= 2 * layer;
        lay_out_layer(&before, b->work.layers, &used, all, T);
        b->input = before.output + (size_t)first * T * WIDTH;
    }
    shift_layer(&b->layer, first, T);
    shift_work(&b->work, first, T, label_count, training);
}
