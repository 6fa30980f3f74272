% if attends.stores_pairs then
/* The number of sequences whose gradients of pairs are stored at the same time: so many that each thread has four tasks; a task is a key in a head. */
INLINE int ${prefix}pair_sequences(int sequences, int keys) {
    const int enough = (4 * ${cuda.threads} + ${PREFIX}HEADS * keys - 1) / (${PREFIX}HEADS * keys);
    return enough < sequences ? enough : sequences;
}

% end
% slot("work")
