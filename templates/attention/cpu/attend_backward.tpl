NOINLINE void attend_${name}_backward(const ${name}_head *head, const real *restrict query, const real *restrict key,
        const real *restrict out, const real *restrict dout, ${name}_saved saved, const ${name}_scratch *scratch,
        real *restrict dquery, real *restrict dkey) {
    const int ${head_lengths};
    if (${name}_recomputes(T)) { % if recomputed then
        attend_${name}_recomputed(head, query, key, out, dout, saved, scratch, dquery, dkey);
        return;
    }
    attend_${name}_queries(head, query, key, out, dout, saved, scratch, dquery);
    for (int j = 0; j < ${S}; j += ${PREFIX}KEYS)
        attend_${name}_keys(head, ${T_S}, j, saved.weights, scratch, false, dkey, dkey + WIDTH);
    % slot("rows_back")
}
