% -- keys_are_open: whether the query sees every key of its span
% -- scores_keys_in_lanes: whether one call computes the scores of LANES keys
% local keys_are_open = terms.has_open_keys and not terms.open_keys_begin_later
% local scores_keys_in_lanes = (keys_are_open or not terms.hides_keys) and terms.scores_rows
% local excludes_last_keys = terms.excludes_last_keys
% local function_of_pair = score_function
% if keys_are_open then function_of_pair = open_score_function end
% local key_index = terms.has_spans and "begin + j" or "j"
% -- heads_together: the largest power of 2 that is at most 8 and at most the number of heads
% local heads_together = 1
% while heads_together < 8 and heads_together * 2 <= heads do heads_together = heads_together * 2 end
% local needs_single_head = terms.maps_logits or terms.differs_by_head
% local head_argument = needs_single_head and "&single_head" or "head"
% local pair_score = function_of_pair and invoke(function_of_pair, head_argument, "&group", key_index, "broadcast(weight[u])")
% local row_score = scores_keys_in_lanes and invoke(name .. "_score_row", "head->scores", "head->running", "first_head + u",
%     "head->from", key_index, "logits[u]")
enum { ${PREFIX}ONE_HEADS = ${heads_together} < LANES ? ${heads_together} : LANES }; /* number of heads that are computed together for one query */

/* Attention of all heads of a single query, for decoding. For each key, the weights of ONE_HEADS heads are adjacent.
 * Terms are added in the same order as with several queries, so results have the same bits.
 *
 *   head          the struct of head 0
 *   query, out    [WIDTH]
 *   tiles         keys and values of the sequence (columns.h)
 *   weights       workspace of one vector for each key
 */
NOINLINE void attend_${name}_one(const ${name}_head *head, const real *restrict query,
        const real *restrict tiles, real *restrict out, real *restrict weights) {
    enum { H = ${PREFIX}ONE_HEADS, D = ${PREFIX}HEAD_WIDTH };
% if terms.has_spans then
    int begin, end;
    ${name}_span(head, head->from, &begin, &end);
    if (end > head->to) end = head->to; % if not cross
    begin -= begin % LANES;
    tiles += tiled_elements(WIDTH, begin);
    const int count = end - begin;
% else
    const int count = ${cross and "head->S" or "head->to"};
% end
    real scaled[WIDTH];
    for (int d = 0; d < WIDTH; d++) scaled[d] = query[d] * ${PREFIX}LOGIT_SCALE;
    for (int h = 0; h < ${PREFIX}HEADS; h += H) {
        const int first_head = h + H <= ${PREFIX}HEADS ? h : ${PREFIX}HEADS - H, channel = first_head * D;
        int scored = 0; /* `weights` holds scores of the keys before this one, and logits of the others */ % if scores_keys_in_lanes and excludes_last_keys
        for (int j = 0; j < count; j += LANES) {
            vector logits[H];
            dot_heads(D, H, scaled + channel, tiles + tiled_elements(WIDTH, j) + channel * LANES, logits);
% if scores_keys_in_lanes and excludes_last_keys then
            if (${key_index} + LANES - head->from <= head->${S}) { /* the last keys would load elements before the table of distances */
                UNROLL
                for (int u = 0; u < H; u++)
                    logits[u] = ${row_score};
                scored = j + LANES;
            }
% elseif scores_keys_in_lanes then
            UNROLL
            for (int u = 0; u < H; u++)
                logits[u] = ${row_score};
% end
            store_heads(H, count - j, logits, weights + j * H);
        }
% if function_of_pair and (excludes_last_keys or not scores_keys_in_lanes) then
        const ${name}_queries group = {.first = head->from};
        for (int j = ${scores_keys_in_lanes and "scored" or "0"}; j < count; j++) {
            real *weight = weights + j * H;
            UNROLL
            for (int u = 0; u < H; u++) {
% if needs_single_head then
                ${name}_head single_head = *head;
                single_head.h = first_head + u;
% end
                weight[u] = ${pair_score}[0];
            }
        }
% end
        exp_heads(H, count, weights);
        vector total = {0};
        for (int j = 0; j < count; j++) total += load(weights + j * H); /* only the first H lanes are used */
        for (int part = channel; part < channel + D; part += ${PREFIX}HEAD_PART) {
            ${name}_part sum[H];
            UNROLL
            for (int u = 0; u < H; u++) sum[u] = (${name}_part){0};
            const real *weight = weights, *value = tiles + WIDTH * LANES + part;
            for (int j = 0; j < count; j += LANES, value += WIDTH * LANES)
                for (int i = 0; i < LANES && j + i < count; i++, weight += H, value += WIDTH) {
                    UNROLL
                    for (int u = 0; u < H; u++) sum[u] += *(const ${name}_part *)(value + u * D) * weight[u];
                }
            UNROLL
            for (int u = 0; u < H; u++) *(${name}_part *)(out + part + u * D) = sum[u] * (1 / total[u]);
        }
    }
}
