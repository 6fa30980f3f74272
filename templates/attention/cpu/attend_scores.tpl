% -- Writes to weights [keys][LANES] the scores of a group of LANES queries with the keys from j to `to` - 1, and
% -- updates the largest score of each query. map_function: the function that computes a score from a logit, or false.
% -- On entry, weights can hold other data, which the scores replace: the logits if terms.scans_logits, or the values that
% -- the slot plus_gain adds to the scores.
% local many_scores, one_score = "score[u]", name .. "_logit(&queries, key, j)"
% if terms.scans_logits then many_scores, one_score = "load(weights + (j + u) * LANES)", "load(weights + j * LANES)" end
% many_scores = map_function and invoke(map_function, "head", "&queries", "j + u", many_scores) or many_scores
% one_score = map_function and invoke(map_function, "head", "&queries", "j", one_score) or one_score
% many_scores = inline("plus_gain", many_scores, { added_values = "weights", key = "(j + u)" })
% one_score = inline("plus_gain", one_score, { added_values = "weights", key = "j" })
for (; j + SIDE_BY_SIDE <= ${to}; j += SIDE_BY_SIDE) {
    vector score[SIDE_BY_SIDE];
    ${name}_logits(SIDE_BY_SIDE, &queries, key, j, score); % if not terms.scans_logits
    UNROLL
    for (int u = 0; u < SIDE_BY_SIDE; u++) {
        score[u] = ${many_scores}; % if many_scores ~= "score[u]"
        largest = maximum(largest, score[u]);
        store(weights + (j + u) * LANES, score[u]);
    }
}
for (; j < ${to}; j++) {
    vector score = ${one_score};
    largest = maximum(largest, score);
    store(weights + j * LANES, score);
}
