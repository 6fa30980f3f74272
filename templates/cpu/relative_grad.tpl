
% if relative.biases then
/* Adds to dq, without its factors still, what a group's queries get through the rows; the biases get the sums over
 * queries. */
% else
/* Adds to dq, without its factors still, what a group's queries get through the rows. */
% end
INLINE void relative_queries(const relative_head *relative, int T, int first, const real *restrict dlogits,
        ${relative.biases and "vector inverse, " or ""}vector *dq) {
% if relative.biases then
    vector dposition[HEAD_WIDTH];
    UNROLL
    for (int d = 0; d < HEAD_WIDTH; d++) dposition[d] = (vector){0};
% end
% if relative.toeplitz then
    const real *rows = relative->rows + first + T - 1;
% end
    for (int j = 0; j < T; j++) {
        vector dlogit = load(dlogits + j * LANES);
% if not relative.toeplitz then
        vector row[HEAD_WIDTH];
% if relative.biases then
        load_rows(relative, first, j, row);
% else
        load_rows(relative, T, first, j, row);
% end
% end
% local row = relative.toeplitz and "load(rows + d * relative->stride - j)" or "row[d]"
        UNROLL
        for (int d = 0; d < HEAD_WIDTH; d++) ${relative.biases and "dposition" or "dq"}[d] += dlogit * ${row};
    }
% if relative.biases then
    vector factor = keep_where(lanes_before(T - first), inverse * LOGIT_SCALE);
    UNROLL
    for (int d = 0; d < HEAD_WIDTH; d++) {
        add_at(relative->dbiases + d * LANES, dq[d] * factor);
        add_at(relative->dbiases + (HEAD_WIDTH + d) * LANES, dposition[d] * factor);
        dq[d] += dposition[d];
    }
% end
}
