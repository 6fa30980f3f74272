% local rows, vectors = of_pairs and paired.rows or "rows", of_pairs and 2 or relative.vectors
% local S, lengths = cross and "S" or "T", cross and "int T, int S" or "int T"
% local K = PREFIX .. (cross and "KEY_STRIDE" or "QUERY_STRIDE")
% if of_pairs then
/* attend_${name}_keys where a vector has room for both: lanes are channels of a value and its key in turn, weights stand
 * beside the gradients of their logits, and one product does both. */
% elseif remade then
/* Gradients of KEYS keys and values, from key j on, or with `more` what these queries add; lanes are channels here. */
% else
/* Gradients of KEYS keys and values, from key j on; lanes are channels here. */
% end
% define("INLINE void attend_" .. name .. (of_pairs and "_pairs" or "_keys"), (spans or bounded) and "const " .. name .. "_head *head", lengths, "int j", not of_pairs and "const real *restrict weights", "const " .. name .. "_scratch *scratch", remade and "bool more", "real *restrict dkey", "real *restrict dvalue")
% if paired and not of_pairs then
    if (${PREFIX}PAIRED) {
        % call("attend_" .. name .. "_pairs", (spans or bounded) and "head", cross and "T, S" or "T", "j", "scratch", remade and "more", "dkey", "dvalue")
        return;
    }
% end
% if of_pairs then
    vector sum[${PREFIX}KEYS];
    UNROLL
    for (int u = 0; u < ${PREFIX}KEYS; u++) sum[u] = (vector){0};
% if remade then
    for (int u = 0; more && u < ${PREFIX}KEYS && j + u < ${S}; u++)
        sum[u] = load_pair(${PREFIX}HEAD_WIDTH, dvalue + (j + u) * ${K}, dkey + (j + u) * ${K});
% end
% else
    ${name}_part dk[${PREFIX}KEYS][${PREFIX}HEAD_PARTS], dv[${PREFIX}KEYS][${PREFIX}HEAD_PARTS];
    UNROLL
    for (int u = 0; u < ${PREFIX}KEYS; u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) dk[u][part] = dv[u][part] = (${name}_part){0};
    }
% if remade then
    for (int u = 0; more && u < ${PREFIX}KEYS && j + u < ${S}; u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) {
            dk[u][part] = *(const ${name}_part *)(dkey + (j + u) * ${K} + part * ${PREFIX}HEAD_PART);
            dv[u][part] = *(const ${name}_part *)(dvalue + (j + u) * ${K} + part * ${PREFIX}HEAD_PART);
        }
    }
% end
% end
% if bounded then
    const int first_group = ${name}_first_group(head);
    const real *row = scratch->${rows} + head->first_query * ${vectors} * ${PREFIX}HEAD_WIDTH;
    for (int first = first_group; first < head->end_query; first += LANES) {
% else
    const real *row = scratch->${rows};
    for (int first = 0; first < T; first += LANES) {
% end
% local group = bounded and "group" or "first / LANES"
% if bounded then
        const int group = (first - first_group) / LANES;
% end
% if of_pairs then
        const real *pair = scratch->${paired.pairs} + 2 * (${group} * ${name}_group_weights(${S}) + j * LANES);
% else
        const real *weight = weights + ${group} * ${name}_group_weights(${S}) + ${row} * LANES;
        const real *dlogit = scratch->dlogits${start} + ${group} * ${step} + ${row} * LANES;
% end
% if bounded then
        const int before = first < head->first_query ? head->first_query - first : 0;
        const int count = head->end_query - first < LANES ? head->end_query - first : LANES;
% else
        int count = T - first < LANES ? T - first : LANES;
% end
% if spans then
        int begin, end;
        ${name}_span(head, first, &begin, &end);
        if (j < begin || j >= end) {
            row += ${bounded and "(count - before)" or "count"} * ${vectors} * ${PREFIX}HEAD_WIDTH;
            continue;
        }
% end
        for (int i = ${bounded and "before" or "0"}; i < count; i++, row += ${vectors} * ${PREFIX}HEAD_WIDTH) {
% if of_pairs then
            vector both = load(row);
            UNROLL
            for (int u = 0; u < ${PREFIX}KEYS; u++) sum[u] += both * broadcast_pair(pair + 2 * (u * LANES + i));
% else
            UNROLL
            for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) {
                ${name}_part g = *(const ${name}_part *)(row + part * ${PREFIX}HEAD_PART);
                ${name}_part q = *(const ${name}_part *)(row + ${PREFIX}HEAD_WIDTH + part * ${PREFIX}HEAD_PART);
                UNROLL
                for (int u = 0; u < ${PREFIX}KEYS; u++) {
                    dv[u][part] += g * weight[${at}];
                    dk[u][part] += q * dlogit[${at}];
                }
            }
% end
        }
    }
% if of_pairs then
    for (int u = 0; u < ${PREFIX}KEYS && j + u < ${S}; u++)
        store_pair(${PREFIX}HEAD_WIDTH, sum[u], dvalue + (j + u) * ${K}, dkey + (j + u) * ${K});
% else
    for (int u = 0; u < ${PREFIX}KEYS && j + u < ${S}; u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) {
            *(${name}_part *)(dkey + (j + u) * ${K} + part * ${PREFIX}HEAD_PART) = dk[u][part];
            *(${name}_part *)(dvalue + (j + u) * ${K} + part * ${PREFIX}HEAD_PART) = dv[u][part];
        }
    }
% end
}
