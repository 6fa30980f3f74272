/* weights [keys][LANES] = exp(score - largest score) for LANES queries, from `first` on, and every key that the group sees.
 * Returns the sums over keys; the weights are not divided by these sums. */
INLINE vector ${name}_weights(const ${name}_head *head, int first, ${span_parameters}, const real *restrict query,
        const real *restrict key, real *restrict weights) {
    ${name}_queries queries;
    load_${name}_queries(head, first, query, &queries);
% -- The slot add_values writes values to weights; the slot plus_gain in attend_scores.tpl adds them to the scores.
    % slot("add_values", { from = from_key, to = to_key, added_values = "weights" })
% if terms.open_keys_begin_later then
    int open_begin, open_end;
    ${name}_open_span(head, first, begin, end, &open_begin, &open_end);
% elseif terms.has_open_keys then
    const int open_end = first + 1 < end ? first + 1 : end; /* all queries see the keys before key `open_end` */
% end
    % slot("scan", { from = from_key, to = to_key, logits = "weights" })
    % slot("distance_logits", { from = from_key, to = to_key })
    vector largest = broadcast(-(real)__builtin_inf());
    int j = ${from_key};
    % include("attention/cpu/attend_scores.tpl", { to = "open_begin", map_function = score_function }) % if terms.open_keys_begin_later
    % include("attention/cpu/attend_scores.tpl", { to = "open_end", map_function = open_score_function }) % if terms.has_open_keys
    % include("attention/cpu/attend_scores.tpl", { to = to_key, map_function = score_function })
    return exp_weights(${keys_seen}, largest, ${from_weights});
}
