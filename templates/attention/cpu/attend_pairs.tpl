/* Does the work of attend_${name}_keys if a head's key and value fit in one vector. Even lanes hold channels of the
 * value's gradient, odd lanes channels of the key's gradient. One product computes both: a row holds the output's
 * gradient and the query, interleaved; a pair holds the weight and the gradient of its logit. */
INLINE void attend_${name}_pairs(const ${name}_head *head, ${length_parameters}, int j, const ${name}_scratch *scratch,
        bool adds, real *restrict dkey, real *restrict dvalue) {
    vector sum[${PREFIX}KEYS];
    clear_columns(${PREFIX}KEYS, sum);
% if recomputed then
    for (int u = 0; adds && u < ${PREFIX}KEYS && j + u < ${S}; u++)
        sum[u] = load_pair(${PREFIX}HEAD_WIDTH, dvalue + (j + u) * ${K}, dkey + (j + u) * ${K});
% end
    % include("attention/cpu/groups_begin.tpl", { rows = paired.rows, vectors = 2 })
        const real *pair = scratch->${paired.pairs} + 2 * (group * ${name}_group_weights(${S}) + j * LANES);
        % include("attention/cpu/groups_of_key.tpl", { vectors = 2 })
        for (int i = ${has_query_bounds and "before" or "0"}; i < count; i++, row += 2 * ${PREFIX}HEAD_WIDTH) {
            vector interleaved = load(row);
            UNROLL
            for (int u = 0; u < ${PREFIX}KEYS; u++) sum[u] += interleaved * broadcast_pair(pair + 2 * (u * LANES + i));
        }
    }
    for (int u = 0; u < ${PREFIX}KEYS && j + u < ${S}; u++)
        store_pair(${PREFIX}HEAD_WIDTH, sum[u], dvalue + (j + u) * ${K}, dkey + (j + u) * ${K});
}
