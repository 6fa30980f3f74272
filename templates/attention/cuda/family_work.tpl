% if attends.stores_pairs then
/* The number of sequences whose gradients of pairs are stored at the same time: enough for four tasks per thread, but at most `sequences`. A task is one key of one head. */
INLINE int ${prefix}pair_sequences(int sequences, int keys) {
    const int enough = (4 * ${cuda.threads} + ${PREFIX}HEADS * keys - 1) / (${PREFIX}HEADS * keys);
    return enough < sequences ? enough : sequences;
}

% end
% slot("work")
