% local gain = terms.gains and " + load(weights + %s * LANES)" or ""
% local of_many, of_one = "score[u]", ("%s_logit(&queries, key, j)"):format(name)
% if through then
% of_many, of_one = ("%s(head, &queries, j + u, %s)"):format(through, of_many), ("%s(head, &queries, j, %s)"):format(through, of_one)
% end
% of_many, of_one = of_many .. gain:format("(j + u)"), of_one .. gain:format("j")
for (; j + SIDE_BY_SIDE <= ${to}; j += SIDE_BY_SIDE) {
    vector score[SIDE_BY_SIDE];
    ${name}_logits(SIDE_BY_SIDE, &queries, key, j, score);
    UNROLL
    for (int u = 0; u < SIDE_BY_SIDE; u++) {
% if through or terms.gains then
        score[u] = ${of_many};
% end
        largest = maximum(largest, score[u]);
        store(weights + (j + u) * LANES, score[u]);
    }
}
for (; j < ${to}; j++) {
    vector score = ${of_one};
    largest = maximum(largest, score);
    store(weights + j * LANES, score);
}
