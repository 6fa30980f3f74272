% -- Writes to weights [keys][LANES] the scores of a group of LANES queries with keys j to `to` - 1, and updates the
% -- largest score. through: the function that makes a logit a score, or false; slot gained: a term added to scores.
% local of_many, of_one = "score[u]", name .. "_logit(&queries, key, j)"
% of_many = through and invoke(through, "head", "&queries", "j + u", of_many) or of_many
% of_one = through and invoke(through, "head", "&queries", "j", of_one) or of_one
% of_many = inline("gained", of_many, { gain = "weights", key = "(j + u)" })
% of_one = inline("gained", of_one, { gain = "weights", key = "j" })
for (; j + SIDE_BY_SIDE <= ${to}; j += SIDE_BY_SIDE) {
    vector score[SIDE_BY_SIDE];
    ${name}_logits(SIDE_BY_SIDE, &queries, key, j, score);
    UNROLL
    for (int u = 0; u < SIDE_BY_SIDE; u++) {
        score[u] = ${of_many}; % if of_many ~= "score[u]"
        largest = maximum(largest, score[u]);
        store(weights + (j + u) * LANES, score[u]);
    }
}
for (; j < ${to}; j++) {
    vector score = ${of_one};
    largest = maximum(largest, score);
    store(weights + j * LANES, score);
}
