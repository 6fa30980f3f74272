% local opens, opens_later = terms.opens and not terms.tests_all, terms.opens_later and not terms.tests_all
% local shown = (terms.scaled or terms.hides) and name .. "_score"
% local open = terms.scaled and name .. "_open_score"
% local parts = { { to = to_key, through = shown } }
% if opens_later then
% parts = { { to = "open", through = shown }, { to = "shut", through = open }, { to = to_key, through = shown } }
% elseif opens then
% parts = { { to = "shut", through = open }, { to = to_key, through = shown } }
% end
/* weights [keys][LANES] = exp(logit - largest) of the queries from `first` on and the keys that they see; returns the
 * sum of the weights, which are not divided by it yet. */
INLINE vector ${name}_weights(const ${name}_head *head, int first, ${span_words}, const real *restrict query,
        const real *restrict key, real *restrict weights) {
    ${name}_queries queries;
    load_${name}_queries(head, first, query, &queries);
    % slot("gains", { from = from_key, to = to_key, room = "weights" })
% if opens_later then
    int open, shut;
    ${name}_open_span(head, first, begin, end, &open, &shut);
% elseif opens then
    const int shut = first + 1 < end ? first + 1 : end; /* all queries see the keys before key `shut` */
% end
    % slot("far", { from = from_key, to = to_key })
    vector largest = broadcast(-(real)__builtin_inf());
    int j = ${from_key};
    % include("attention/cpu/attend_scores.tpl", part) % for _, part in ipairs(parts)
    return exp_weights(${keys_seen}, largest, ${from_weights});
}
