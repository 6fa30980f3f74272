/* Computes the gradients of queries, keys and values in the workspace${attends.has_table_sums and ", and of the tables that this layer reads" or ""}. */
INLINE void ${prefix}attend_backward(${attends.gradients_type} *g) {
    ${prefix}attend_queries();
% if attends.stores_pairs then
    const int sequences = block()->sequences;
    const int most = ${prefix}pair_sequences(sequences, block()->view.${attends.S});
    int first = 0;
    do {
        const int left = sequences - first, count = left < most ? left : most;
        ${prefix}attend_keys(first, count);
        ${prefix}attend_by_distance(first, count);
        __syncthreads();
        first += count;
    } while (first < sequences);
% else
% -- here attend_keys has no parameters, so the printed call has no arguments (signatures)
    ${prefix}attend_keys(first, count);
% end
    % slot("end_backward")
% for _, sum_pass in ipairs(attends.sum_passes) do
    ${prefix}attend_by_${sum_pass.class}(); % if not sum_pass.reads_stored_pairs
% end
    __syncthreads(); % if attends.ends_without_barrier
}
