% local total = terms.normalised and "vector total = " or ""
% local least = (precision == "float64" and f64 or f32)(1e-12)
/* Every query visits its keys outwards, at each distance the key to the right, then the key to the left.
 * kernels/cpu/geometric.h multiplies their probabilities. */

/* logits [keys][LANES] of keys [from, to); more: a term added to them. */
INLINE void write_${name}_logits(const ${name}_queries *group, const real *restrict key, int from, int to, vector more,
        real *restrict logits) {
    int j = from;
    for (; j + SIDE_BY_SIDE <= to; j += SIDE_BY_SIDE) {
        vector logit[SIDE_BY_SIDE];
        ${name}_logits(SIDE_BY_SIDE, group, key, j, logit);
        UNROLL
        for (int u = 0; u < SIDE_BY_SIDE; u++) store(logits + (j + u) * LANES, logit[u] + more);
    }
    for (; j < to; j++) store(logits + j * LANES, ${name}_logit(group, key, j) + more);
}

/* All logits of the queries from `first` on; the logit of a query with itself is not used. */
INLINE void write_${name}_group(const ${name}_head *head, int first, const real *restrict query,
        const real *restrict key, real *restrict logits) {
    ${name}_queries group;
    load_${name}_queries(head, first, query, &group);
% if terms.directional then
    const int end = first + LANES < head->T ? first + LANES : head->T;
    write_${name}_logits(&group, key, 0, first, group.left, logits);
    write_${name}_logits(&group, key, first, end, (vector){0}, logits);
    write_${name}_logits(&group, key, end, head->T, group.right, logits);
    for (int j = first; j < end; j++) add_at(logits + j * LANES,
            choose(lanes_before(j - first), group.right, group.left));
% else
    write_${name}_logits(&group, key, 0, head->T, group.offset, logits);
% end
}
% if terms.normalised then

static const real ${PREFIX}LEAST_TOTAL = ${least}; /* least divisor of the weights */

/* The inverse of the divisor of a group's weights. A query with a tiny sum of weights keeps small weights; the weights
 * of a query without other keys are 0. */
INLINE vector ${name}_inverse_of(vector total) { return 1 / maximum(total, broadcast(${PREFIX}LEAST_TOTAL)); }
% end

/* Attention of one head of one sequence. Rows of queries, keys and values are QUERY_STRIDE apart, rows of out WIDTH
 * apart; out and kept are written. */
NOINLINE void attend_${name}(const ${name}_head *head, const real *restrict query, const real *restrict key,
        real *restrict out, ${name}_kept kept) {
    const int T = head->T;
    const int first_group = ${name}_first_group(head);
    for (int first = ${first_group}; first < ${to_query}; first += LANES) {
        vector o[${PREFIX}HEAD_WIDTH];
        write_${name}_group(head, first, query, key, kept.weights);
        ${total}weigh_outwards(T, first, kept.weights, kept.chances, head->along, head->across);
        weighted_rows(${PREFIX}HEAD_WIDTH, T, kept.weights, ${PREFIX}QUERY_STRIDE, key + WIDTH, o);
% if terms.normalised then
        vector inverse = ${name}_inverse_of(total);
        store(kept.inverse_sum + first, inverse);
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) o[d] *= inverse;
% end
        store_columns(${PREFIX}HEAD_WIDTH, T, first, WIDTH, o, out);
        kept.weights += kept.step;
        kept.chances += kept.step;
    }
}
