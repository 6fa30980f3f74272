% -- Puts new keys and values into tiles, and computes the attention of a single query from them.
if (tiles && from == 0) put_in_tiles(WIDTH, 0, S, ${PREFIX}KEY_STRIDE, key_value, tiles); % if cross
if (tiles) put_in_tiles(WIDTH, from, from + count, ${PREFIX}QUERY_STRIDE, query_key_value + WIDTH - from * ${PREFIX}QUERY_STRIDE, tiles); % else
if (tiles && count == 1) {
    ${name}_head head = make_${name}_head(w, l, 0, ${forward_from}, ${forward_to}, &scores, NULL);
    attend_${name}_one(&head, ${query_pointer}, tiles, attended, head_saved.weights);
}
