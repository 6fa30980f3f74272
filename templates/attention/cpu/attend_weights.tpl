% local S = cross and "S" or "T"
% local spans = mask.kind ~= "none"
/* weights [keys][LANES] of the queries from `first` on: exp(logit - largest), not yet divided by their sum, which is
 * returned${spans and "; of the keys from begin to end" or ""}. */
INLINE vector ${name}_weights(const ${name}_head *head, int first, ${span}, const real *restrict query,
        const real *restrict key, real *restrict weights) {
    ${name}_queries queries;
    load_${name}_queries(head, first, query, &queries);
% if lined then
    open_${name}_lines(head, first, ${from}, ${to}, weights);
% end
% if opens and mask.left then
    int open, shut;
    ${name}_open_span(head, first, begin, end, &open, &shut);
% elseif opens then
    const int shut = first + 1 < end ? first + 1 : end; /* keys before it are open to all of the queries */
% end
% if relative.turned then
    ${name}_far_logits(head, ${from}, ${to});
% end
    vector largest = broadcast(-(real)__builtin_inf());
    int j = ${from};
% for _, part in ipairs(parts) do
    % include("attention/cpu/attend_scores.tpl", { to = part.to, score = part.score, lined = lined })
% end
    return exp_weights(${weighed});
}
