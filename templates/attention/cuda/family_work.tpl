% if attends.pairs then
/* Number of sequences whose pairs' gradients are stored at a time: enough that all threads have work. */
INLINE int ${prefix}pair_sequences(int sequences, int T) {
    const int enough = (4 * ${cuda.threads} + ${PREFIX}HEADS * T - 1) / (${PREFIX}HEADS * T);
    return enough < sequences ? enough : sequences;
}

% end
% slot("work")
