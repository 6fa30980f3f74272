UNROLL
for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
    add_at(head->dbiases + d * LANES, dq[d] * factor);
    add_at(head->dbiases + (${PREFIX}HEAD_WIDTH + d) * LANES, dposition[d] * factor);
    dq[d] += dposition[d];
}
