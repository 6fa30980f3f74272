INLINE void ${prefix}attend_backward(${attends.gradients_type} *g) {
    % slot("begin_backward")
% if attends.stores_pairs then -- most: the number of sequences whose pairs are stored at once
    const int sequences = block()->sequences, most = ${prefix}pair_sequences(sequences, block()->view.${attends.T});
    for (int first = 0; first < sequences; first += most) {
        const int left = sequences - first, count = left < most ? left : most;
        ${prefix}attend_queries(first, count);
        ${prefix}attend_keys(first, count);
        % slot("after_keys_of_pairs", { first = "first", count = "count" })
    }
% else
    ${prefix}attend_queries(0, block()->sequences);
    ${prefix}attend_keys(0, block()->sequences);
    % slot("after_keys_of_pairs", { first = "0", count = "block()->sequences" })
% end
    % slot("end_walks")
}
