% local lengths = cross and "T = head->T, S = head->S" or "T = head->T"
% local S, T_S = cross and "S" or "T", cross and "T, S" or "T"
% local spans = mask.kind ~= "none"
% local key_argument, key_pass = cross and "const real *restrict key, " or "", cross and "key, " or ""
% local headed = (spans or bounded) and "head"
NOINLINE void attend_${name}_backward(const ${name}_head *head, const real *restrict query,
        ${key_argument}const real *restrict out, const real *restrict dout, ${name}_kept kept,
        const ${name}_scratch *scratch, real *restrict dquery${cross and ", real *restrict dkey" or ""}) {
    const int ${lengths};
% if remade then
    if (${name}_remakes(T)) {
        attend_${name}_remade(head, query, out, dout, kept, scratch, dquery);
        return;
    }
% end
    attend_${name}_queries(head, query, ${key_pass}out, dout, kept, scratch, dquery);
% local again = remade and "false"
% if cross then
    for (int j = 0; j < S; j += ${PREFIX}KEYS)
        % call("attend_" .. name .. "_keys", headed, "T", "S", "j", "kept.weights", "scratch", again, "dkey", "dkey + WIDTH")
% else
    for (int j = 0; j < T; j += ${PREFIX}KEYS)
        % call("attend_" .. name .. "_keys", headed, "T", "j", "kept.weights", "scratch", again, "dquery + WIDTH", "dquery + 2 * WIDTH")
% end
% if relative.toeplitz then
    for (int x = 0; x < ${name}_distance_count(${T_S}); x += ${PREFIX}KEYS) ${name}_relative_rows_grad(${headed and "head, " or ""}${T_S}, x, scratch, head->drows);
% elseif relative.kind ~= "none" and not relative.turned then
    for (int i = ${bounded and "head->first_query" or "0"}; i < ${bounded and "head->end_query" or "T"}; i++) ${name}_relative_rows_grad(head, i, scratch);
% end
}
