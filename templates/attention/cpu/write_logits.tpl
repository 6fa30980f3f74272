% -- Writes to logits [keys][LANES] the logits of a group with keys from..to - 1; j: on entry the first key, afterwards `to`.
for (; j + SIDE_BY_SIDE <= to; j += SIDE_BY_SIDE) {
    vector logit[SIDE_BY_SIDE];
    ${name}_logits(SIDE_BY_SIDE, group, key, j, logit);
    UNROLL
    for (int u = 0; u < SIDE_BY_SIDE; u++) store(logits + (j + u) * LANES, logit[u]);
}
for (; j < to; j++) store(logits + j * LANES, ${name}_logit(group, key, j));
