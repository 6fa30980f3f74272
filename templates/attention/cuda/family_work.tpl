% if attends.pairs then
/* Sequences whose pairs' gradients are kept at a time, so that all threads have one to work on. */
INLINE int ${prefix}pair_sequences(int sequences, int T) {
    const int enough = (4 * ${cuda.threads} + ${PREFIX}HEADS * T - 1) / (${PREFIX}HEADS * T);
    return enough < sequences ? enough : sequences;
}

% end
% slot("work")
