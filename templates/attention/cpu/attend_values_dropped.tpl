% -- Sums values into o [HEAD_WIDTH], with dropout of the weights; stores dropped weights negated.
const int queries = head->T - first < LANES ? head->T - first : LANES;
const size_t element = ((size_t)head->h * (size_t)head->T + (size_t)first) * (size_t)${S};
const int8_t *keep =
        dropout_keep_at(&head->masks, element, queries * ${S}, ${rate}_DROP_BELOW, head->keep);
bits columns = {0}; /* each lane holds the masks of REAL_BYTES keys, one byte for each key; the low byte belongs to key j */
clear_columns(${PREFIX}HEAD_WIDTH, o);
for (int j = ${from_key}; j < ${to_key}; j++) {
    vector weight = load(weights + j * LANES);
    columns = j % REAL_BYTES ? columns >> 8 : keep_columns(keep + j, ${S});
    bits is_kept = first_keeps(columns);
    store(weights + j * LANES, choose(is_kept, weight, -weight));
    weight = keep_where(is_kept, weight);
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) o[d] += weight * value[j * ${K} + d];
}
