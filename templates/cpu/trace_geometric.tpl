% local name = attentions[1].name
/* rows[first + lane][j] = the lane's element at the offset to key j, times factor[lane], for the queries below T. */
static void write_rows(int T, int first, const real *offsets, vector factor, real *rows) {
    for (int i = 0; i < LANES && first + i < T; i++) {
        real *row = rows + (size_t)(first + i) * (size_t)T;
        for (int j = 0; j < T; j++) row[j] = offsets[offset_row(first, j - first - i) * LANES + i] * factor[i];
    }
}

/* One head of one sequence, query and key rows as in attend_${name}; what is kept of the attention serves as scratch.
 *
 *   scores, attention   [T][T] query by key, written; NULL: not wanted. A token's score with itself is -infinity
 */
static void trace_head_${name}(const geometric_head *head, int T, const real *query, kept_attention kept, real *scores,
        real *attention) {
    for (int first = 0; first < T; first += LANES) {
        int right = reach_right(T, first), left = reach_left(T, first);
        if (scores) {
            query_group group;
            load_queries(head, T, first, query, &group);
            for (int offset = -left; offset <= right; offset++)
                store(kept.weights + offset_row(first, offset) * LANES, pair_logit(head, &group, first, offset));
            store(kept.weights + offset_row(first, 0) * LANES, broadcast(-(real)__builtin_inf()));
            write_rows(T, first, kept.weights, broadcast(1), scores);
        }
        if (attention) {
            walk w;
            walk_outwards(head, T, first, query, &w, kept.weights, kept.misses);
            write_rows(T, first, kept.weights, ${normaliser.normalised and "inverse_of(w.total)" or "broadcast(1)"}, attention);
        }
    }
}
