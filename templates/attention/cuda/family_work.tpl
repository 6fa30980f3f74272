% if attends.stores_pairs then
/* The number of sequences with stored gradients of pairs at a time: enough for four keys of a head per thread. */
INLINE int ${prefix}pair_sequences(int sequences, int keys) {
    const int enough = (4 * ${cuda.threads} + ${PREFIX}HEADS * keys - 1) / (${PREFIX}HEADS * keys);
    return enough < sequences ? enough : sequences;
}

% end
% slot("work")
