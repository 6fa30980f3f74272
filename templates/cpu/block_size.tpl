/* Returns how many sequences of these lengths have about `most` tokens together; at least 1. */
static int count_sequences(int most, const int length[LH_MAX_STREAMS]) {
    int tokens = length[0] + length[1], sequences = (most + tokens / 2) / tokens; % if streams[2]
    int sequences = (most + length[0] / 2) / length[0]; % else
    return sequences > 0 ? sequences : 1;
}

/* The number of sequences that one call of train_block computes. */
static int block_sequences(const int length[LH_MAX_STREAMS]) { return count_sequences(BLOCK_TOKENS, length); }
/* The number of sequences that one call of forward_block computes. */
static int forward_sequences(const int length[LH_MAX_STREAMS]) { return count_sequences(EVALUATION_TOKENS, length); }

/* The approximate limit of tokens in a block of sequences. */
static int most_tokens(lh_mode mode) {
    const int block = BLOCK_TOKENS, evaluation = EVALUATION_TOKENS;
    return mode == LH_MODE_EVALUATE && evaluation > block ? evaluation : block;
}

% if streams[2] then
/* Returns the bytes of a workspace for a block of sequences with `source` and `target` tokens. */
static size_t count_bytes(const lh_shape *longest, int source, int target, lh_mode mode) {
    lh_shape shape = {0, {source, target}, longest->labels};
    shape.sequences = count_sequences(most_tokens(mode), shape.length);
    if (shape.sequences > longest->sequences) shape.sequences = longest->sequences;
    workspace w;
    return lay_out(&w, NULL, &shape, shape.length[${cpu.decoding.stream}], mode); % if cpu.decoding
    return lay_out(&w, NULL, &shape, mode); % else
}

/* Returns the bytes of the largest workspace that a block of sequences of at most these lengths needs.
 * tokens: the length of source and target together. The loop skips a length if a longer one has as many sequences. */
static size_t workspace_bytes(const lh_shape *longest, lh_mode mode) {
    size_t most = count_bytes(longest, longest->length[0], longest->length[1], mode);
    for (int tokens = 2; tokens <= 2 * most_tokens(mode); tokens++) {
        const int now[] = {tokens, 0}, next[] = {tokens + 1, 0};
        if (count_sequences(most_tokens(mode), now) == count_sequences(most_tokens(mode), next)) continue;
        for (int source = 1; source <= longest->length[0] && source < tokens; source++) {
            int target = tokens - source < longest->length[1] ? tokens - source : longest->length[1];
            size_t bytes = count_bytes(longest, source, target, mode);
            if (bytes > most) most = bytes;
        }
    }
    return most;
}
% else
/* Returns the bytes of the largest workspace that a block of sequences of at most this length needs. */
static size_t workspace_bytes(const lh_shape *longest, lh_mode mode) {
    size_t most = 0;
    for (int length = 1; length <= longest->length[0]; length++) {
        lh_shape shape = {0, {length, 0}, longest->labels};
        shape.sequences = count_sequences(most_tokens(mode), shape.length);
        if (shape.sequences > longest->sequences) shape.sequences = longest->sequences;
        workspace w;
        w.free_passes = 0; % if cpu.gradient_passes
        w.passes = GRADIENT_PASSES; % if cpu.gradient_passes
        w.passes = PASSES; % elseif cpu.passes
        size_t bytes = lay_out(&w, NULL, &shape, length, mode); % if cpu.decoding
        size_t bytes = lay_out(&w, NULL, &shape, mode); % else
        if (bytes > most) most = bytes;
    }
    return most;
}
% end
