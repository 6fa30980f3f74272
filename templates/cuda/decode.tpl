/* Greedy decoding of a group of sequences. A pass over whole sequences fills the caches; in this pass, tokens that are not
 * decoded yet may have any value. Each later pass processes one token of each sequence. The block's mask marks the
 * requested answers. */

% if cuda.is_digit then
/* Whether a token is a digit. */
INLINE bool is_digit(int token) { return ${cuda.is_digit}; }

% end
/* Lays out the caches after the group's workspace. Called by one thread. */
INLINE void find_caches(block_state *b) {
    workspace w;
    const size_t used = lay_out(&w, NULL, b->sequences, b->view.T, b->view.label_count, false);
    lay_out_caches(&b->cached, b->memory, used, b->sequences, b->view.T);
}

/* Finds the token that predicts the first requested answer of each sequence, and the end of the sequence's requested
 * answers. Decoding begins at the earliest of these tokens. */
INLINE void begin_decoding(void) {
    block_state *b = block();
    const int label_count = b->view.label_count, unlabelled = b->view.${device.labelled_length} - label_count;
    for (int sequence = threadIdx.x; sequence < b->sequences; sequence += THREADS) {
        const unsigned char *mask = b->mask + sequence * label_count;
        int first = 0, end = label_count;
        while (first < label_count && !mask[first]) first++;
        while (end > 0 && !mask[end - 1]) end--;
        b->cached.begin[sequence] = unlabelled + first;
        b->cached.end[sequence] = end;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int current = unlabelled + label_count;
        for (int sequence = 0; sequence < b->sequences; sequence++) current = min(current, b->cached.begin[sequence]);
        b->current = current;
    }
    __syncthreads();
}

/* Records the answers that are predicted from the current token, and makes the next token the current one; returns
 * whether a sequence needs more answers. ending: a class, or -1; a sequence ends where this class is predicted and the
 * label is another class. */
INLINE bool record_answers(int ending, real *logits, int *classes) {
    block_state *b = block();
    const int T = b->view.${device.labelled_length}, label_count = b->view.label_count, current = b->current;
    const int n = current - (T - label_count);
    double unfinished = 0;
    for (int sequence = threadIdx.x; sequence < b->sequences; sequence += THREADS) {
        const real *row = b->work.logits + sequence * CLASS_COLUMNS;
        const int label = sequence * label_count + n;
        const bool requested = b->mask[label] && n < b->cached.end[sequence];
        const size_t index = (size_t)(b->before + b->first) * label_count + label;
        const int best = find_best_class(row);
        if (requested && classes) classes[index] = best;
        for (int c = 0; requested && logits && c < CLASSES; c++) logits[index * CLASSES + c] = row[c];
        if (requested && best == ending && b->labels[label] != ending) b->cached.end[sequence] = 0;
        if (current + 1 < T)
            b->cached.next[sequence] = requested ? ${decoder.first_output} + best : b->${device.decoding.tokens}[sequence * T + current + 1];
        if (current + 1 < T) b->cached.place[sequence] = is_digit(b->cached.next[sequence]) ? b->cached.place[sequence] + 1 : 0; % if cuda.is_digit
        unfinished += b->cached.end[sequence] > n + 1;
    }
    unfinished = block_sum(unfinished);
    if (threadIdx.x == 0) b->current = current + 1;
    __syncthreads();
    return unfinished > 0;
}

/* Decodes a group of sequences after the pass over them. Writes the requested answers to classes and the logits of
 * these answers to logits; either array may be NULL. */
NOINLINE void decode(int ending, real *logits, int *classes) {
    block_state *b = block();
    begin_decoding();
    if (b->current == b->view.${device.labelled_length}) return;
    for (int sequence = threadIdx.x; sequence < b->sequences; sequence += THREADS)
        b->cached.next[sequence] = b->${device.decoding.tokens}[sequence * b->view.${device.labelled_length} + b->current];
% if cuda.is_digit then
    for (int sequence = threadIdx.x; sequence < b->sequences; sequence += THREADS)
        b->cached.place[sequence] = ${device.decoding.token_positions}()[sequence * b->view.${device.labelled_length} + b->current];
% end
    do {
        __syncthreads();
        % include(op.template, op) % for _, op in ipairs(device.decoding.per_token)
    } while (record_answers(ending, logits, classes));
}
