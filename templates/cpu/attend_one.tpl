% local K = PREFIX .. (cross and "KEY_STRIDE" or "QUERY_STRIDE")
/* The same for one query alone, as decoding has it: LANES keys side by side for their logits and weights, then channels
 * side by side. Products and sums have the order that they have among other queries, and so the same bits. */
NOINLINE void attend_${name}_one(const ${name}_head *head, const real *restrict query, const real *restrict key,
        const real *restrict value, real *restrict out, ${name}_kept kept) {
% if spans then
    int begin, end;
    ${name}_span(head, head->from, &begin, &end);
% if not cross then
    if (end > head->to) end = head->to;
% end
% else
    const int begin = 0, end = ${cross and "head->S" or "head->to"};
% end
    real scaled[${PREFIX}HEAD_WIDTH], *restrict weights = kept.weights;
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) scaled[d] = query[d] * ${PREFIX}LOGIT_SCALE;
    int whole = begin;
    for (; whole + LANES <= end; whole += LANES) /* the first call knows that there is a row for every lane */
        store(weights + whole - begin, dot_with_rows(${PREFIX}HEAD_WIDTH, scaled, whole + LANES, whole, ${K}, key));
    if (whole < end) store(weights + whole - begin, dot_with_rows(${PREFIX}HEAD_WIDTH, scaled, end, whole, ${K}, key));
% if score then
    const ${name}_queries group = {.first = head->from};
    for (int j = begin; j < end; j++)
        weights[j - begin] = ${score}(head, &group, j, broadcast(weights[j - begin]))[0];
% end
    exp_row(end - begin, weights);
    real total = 0;
    ${name}_part sum[${PREFIX}HEAD_PARTS];
    UNROLL
    for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) sum[part] = (${name}_part){0};
    for (int j = begin; j < end; j++) {
        const real weight = weights[j - begin];
        total += weight;
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++)
            sum[part] += *(const ${name}_part *)(value + j * ${K} + part * ${PREFIX}HEAD_PART) * weight;
    }
    const real inverse = 1 / total;
    store(kept.inverse_sum, broadcast(inverse));
    UNROLL
    for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++)
        *(${name}_part *)(out + part * ${PREFIX}HEAD_PART) = sum[part] * inverse;
}
