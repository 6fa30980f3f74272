% local of_many, of_one = "score[u]", name .. "_logit(&queries, key, j)"
% if through then
% of_many, of_one = invoke(through, "head", "&queries", "j + u", of_many), invoke(through, "head", "&queries", "j", of_one)
% end
for (; j + SIDE_BY_SIDE <= ${to}; j += SIDE_BY_SIDE) {
    vector score[SIDE_BY_SIDE];
    ${name}_logits(SIDE_BY_SIDE, &queries, key, j, score);
    UNROLL
    for (int u = 0; u < SIDE_BY_SIDE; u++) {
% if terms.gains then
        score[u] = ${of_many} + load(weights + (j + u) * LANES);
% elseif through then
        score[u] = ${of_many};
% end
        largest = maximum(largest, score[u]);
        store(weights + (j + u) * LANES, score[u]);
    }
}
for (; j < ${to}; j++) {
% if terms.gains then
    vector score = ${of_one} + load(weights + j * LANES);
% else
    vector score = ${of_one};
% end
    largest = maximum(largest, score);
    store(weights + j * LANES, score);
}
