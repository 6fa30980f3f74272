% local spans = mask.kind ~= "none"
% local S, all = cross and "S" or "T", relative.toeplitz or not spans
% local sizes = (relative.biases or all and not cross) and "T = head->T"
% if all and cross then
% sizes = (sizes and sizes .. ", " or "") .. "S = head->S"
% end

% if relative.biases then
/* Adds to dq, without its factors still, what a group's queries get through the rows; the biases get the sums over
 * queries. */
% else
/* Adds to dq, without its factors still, what a group's queries get through the rows. */
% end
% if spans then
INLINE void ${name}_relative_queries(const ${name}_head *head, int first, int begin, int end,
        const real *restrict dlogits, ${relative.biases and "vector inverse, " or ""}vector *dq) {
% else
INLINE void ${name}_relative_queries(const ${name}_head *head, int first, const real *restrict dlogits,
        ${relative.biases and "vector inverse, " or ""}vector *dq) {
% end
% if sizes then
    const int ${sizes};
% end
% if relative.biases then
    vector dposition[${PREFIX}HEAD_WIDTH];
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) dposition[d] = (vector){0};
% end
% if relative.toeplitz then
    const real *rows = head->rows + first + ${S} - 1;
% end
    for (int j = ${spans and "begin" or "0"}; j < ${spans and "end" or S}; j++) {
        vector dlogit = load(dlogits + j * LANES);
% if not relative.toeplitz then
        vector row[${PREFIX}HEAD_WIDTH];
        load_${name}_rows(head, first, j, row);
% end
% local row = relative.toeplitz and "load(rows + d * head->stride - j)" or "row[d]"
        UNROLL
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) ${relative.biases and "dposition" or "dq"}[d] += dlogit * ${row};
    }
% if relative.biases then
    vector factor = keep_where(lanes_before(T - first), inverse * ${PREFIX}LOGIT_SCALE);
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
        add_at(head->dbiases + d * LANES, dq[d] * factor);
        add_at(head->dbiases + (${PREFIX}HEAD_WIDTH + d) * LANES, dposition[d] * factor);
        dq[d] += dposition[d];
    }
% end
}
