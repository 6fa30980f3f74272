% local dkey, dvalue = cross and "dkey" or "dquery + WIDTH", cross and "dkey + WIDTH" or "dquery + 2 * WIDTH"
NOINLINE void attend_${name}_backward(const ${name}_head *head, const real *restrict query,
        ${cross and "const real *restrict key, " or ""}const real *restrict out, const real *restrict dout,
                ${name}_kept kept,
        const ${name}_scratch *scratch, real *restrict dquery${cross and ", real *restrict dkey" or ""}) {
    const int ${of_head};
% if remade then
    if (${name}_remakes(T)) {
        attend_${name}_remade(head, query, out, dout, kept, scratch, dquery);
        return;
    }
% end
    attend_${name}_queries(head, query, ${cross and "key, " or ""}out, dout, kept, scratch, dquery);
    for (int j = 0; j < ${S}; j += ${PREFIX}KEYS)
        attend_${name}_keys(head, ${T_S}, j, kept.weights, scratch, false, ${dkey}, ${dvalue});
    % slot("rows_back")
}
