/* The backward pass of a head without stored weights. The weights of up to RECOMPUTED_QUERIES queries are recomputed,
 * and the backward pass of these queries reads the weights while they are in the processor's cache. */
NOINLINE void attend_${name}_${recomputed.always and "backward" or "recomputed"}(const ${name}_head *head,
        const real *restrict query, const real *restrict key, const real *restrict out, const real *restrict dout,
        ${name}_saved saved, const ${name}_scratch *scratch, real *restrict dquery, real *restrict dkey) {
    const int T = head->T, MOST = ${PREFIX}RECOMPUTED_QUERIES;
    saved.weights = scratch->weights;
    for (int start = head->first_query / MOST * MOST; start < head->end_query; start += MOST) {
        ${name}_head block = *head;
        if (block.first_query < start) block.first_query = start;
        if (block.end_query > start + MOST) block.end_query = start + MOST;
        real *weights = scratch->weights;
        for (int first = ${name}_first_group(&block); first < block.end_query; first += LANES) {
            % include("attention/cpu/span.tpl", { first = "first" })
            ${name}_weights(head, first, ${span}, query, key, weights);
            weights += ${name}_group_weights(T);
        }
        attend_${name}_queries(&block, query, key, out, dout, saved, scratch, dquery);
        for (int j = 0; j < T; j += ${PREFIX}KEYS)
            attend_${name}_keys(&block, T, j, scratch->weights, scratch, start > head->first_query, dkey,
                    dkey + WIDTH);
        % slot("rows_back_of_block")
    }
}
