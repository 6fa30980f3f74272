% local spans = mask.kind ~= "none"
% local lengths = cross and "int T, int S" or "int T"
% local T_S, S = cross and "T, S" or "T", cross and "S" or "T"
% local query = (relative.biases and "2 * " or "") .. PREFIX .. "HEAD_WIDTH"

% if relative.toeplitz then
% if spans then
/* Adds the gradients of KEYS rows, from row x on; lanes are channels. Row x is that of query i and key i + ${S} - 1 - x;
 * dlogits has KEYS zeros on both sides of the keys that a group of queries sees. */
% else
/* Adds the gradients of KEYS rows, from row x on; lanes are channels. Row x is that of query i and key i + ${S} - 1 - x;
 * pairs of which the key does not exist have zeros in dlogits. */
% end
% define("INLINE void " .. name .. "_relative_rows_grad", (spans or bounded) and "const " .. name .. "_head *head", lengths, "int x", "const " .. name .. "_scratch *scratch", "real *restrict drows")
    ${name}_part dr[${PREFIX}KEYS][${PREFIX}HEAD_PARTS];
    UNROLL
    for (int u = 0; u < ${PREFIX}KEYS; u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) dr[u][part] = (${name}_part){0};
    }
    int key = ${S} - 1 - x, i = key < 0 ? -key : 0, behind = ${S} - key + ${PREFIX}KEYS - 1, end = behind < T ? behind : T;
% local origin = bounded and "(first - first_group)" or "first"
% if bounded then
    const int first_group = ${name}_first_group(head);
    if (i < head->first_query) i = head->first_query;
    if (end > head->end_query) end = head->end_query;
% end
    while (i < end) {
        int first = i / LANES * LANES, stop = first + LANES < end ? first + LANES : end;
        const real *dlogits =
                scratch->dlogits + ${PREFIX}KEYS * LANES + ${origin} / LANES * ${name}_group_dlogits(${S}) - first;
% if spans then
        int from, to;
        ${name}_span(head, first, &from, &to);
        const int seen = to - key + ${PREFIX}KEYS - 1; /* what is behind it has none of these keys */
        if (i < from - key) i = from - key;
        for (; i < stop && i < seen; i++) {
% else
        for (; i < stop; i++) {
% end
            const real *row = scratch->rows + i * ${relative.vectors} * ${PREFIX}HEAD_WIDTH + ${query};
            const real *dlogit = dlogits + (i + key) * LANES + i;
            UNROLL
            for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) {
                ${name}_part q = *(const ${name}_part *)(row + part * ${PREFIX}HEAD_PART);
                UNROLL
                for (int u = 0; u < ${PREFIX}KEYS; u++) dr[u][part] += q * dlogit[-u * LANES];
            }
        }
% if spans then
        i = stop;
% end
    }
    for (int u = 0; u < ${PREFIX}KEYS && x + u < ${name}_distance_count(${T_S}); u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++)
            *(${name}_part *)(drows + (x + u) * ${PREFIX}RELATIVE_WIDTH + part * ${PREFIX}HEAD_PART) += dr[u][part];
    }
}
% else
/* Adds the gradients of the rows of all pairs of query i; lanes are channels. */
INLINE void ${name}_relative_rows_grad(const ${name}_head *head, int i, const ${name}_scratch *scratch) {
    const real *row = scratch->rows + i * ${relative.vectors} * ${PREFIX}HEAD_WIDTH + ${query};
% if bounded then
    const int group = (i - ${name}_first_group(head)) / LANES;
% else
    const int group = i / LANES;
% end
    const real *dlogit = scratch->dlogits + group * ${name}_group_weights(head->${S}) + i % LANES;
% if spans then
    int begin, end;
    ${name}_span(head, i / LANES * LANES, &begin, &end);
    for (int j = begin; j < end; j++) {
% else
    const int ${S} = head->${S};
    for (int j = 0; j < ${S}; j++) {
% end
        real *drow = head->drows + ${name}_pair_offset(head, i, j);
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++)
            *(${name}_part *)(drow + part * ${PREFIX}HEAD_PART) +=
                    *(const ${name}_part *)(row + part * ${PREFIX}HEAD_PART) * dlogit[j * LANES];
    }
}
% end
