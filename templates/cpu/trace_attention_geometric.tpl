% local of = cpu.attended[name]
% local factor = normaliser.normalised and name .. "_inverse_of(w.total)" or "broadcast(1)"
/* rows[first + lane][j] = the lane's element at the offset to key j, times factor[lane], for the queries below T. */
static void write_${name}_rows(int T, int first, const real *offsets, vector factor, real *rows) {
    for (int i = 0; i < LANES && first + i < T; i++) {
        real *row = rows + (size_t)(first + i) * (size_t)T;
        for (int j = 0; j < T; j++) row[j] = offsets[${name}_offset_row(first, j - first - i) * LANES + i] * factor[i];
    }
}

/* One head of one sequence, query and key rows as in attend_${name}; what is kept of the attention serves as scratch.
 *
 *   scores, attention   [T][T] query by key, written; NULL: not wanted. A token's score with itself is -infinity
 */
static void trace_${name}_head(const ${name}_head *head, const real *query, ${name}_kept kept, real *scores,
        real *attention) {
    const int T = head->T;
    for (int first = 0; first < T; first += LANES) {
        int right = ${name}_reach_right(T, first), left = ${name}_reach_left(T, first);
        if (scores) {
            ${name}_queries group;
            load_${name}_queries(head, T, first, query, &group);
            for (int offset = -left; offset <= right; offset++)
                store(kept.weights + ${name}_offset_row(first, offset) * LANES, ${name}_logit(head, &group, first, offset));
            store(kept.weights + ${name}_offset_row(first, 0) * LANES, broadcast(-(real)__builtin_inf()));
            write_${name}_rows(T, first, kept.weights, broadcast(1), scores);
        }
        if (attention) {
            ${name}_walk w;
            walk_${name}_outwards(head, T, first, query, &w, kept.weights, kept.misses);
            write_${name}_rows(T, first, kept.weights, ${factor}, attention);
        }
    }
}

/* All heads of all sequences of the layer that went through the workspace last. */
static void trace_attention_${name}(workspace *w, int l, const ${stack.state} *state, const lh_trace *to) {
    const real *query = state->${of.queries};
    const int T = w->${queries.at}length;
    size_t pairs = (size_t)T * (size_t)T, at = 0;
    real *scores = to->scores, *attention = to->attention;
    if (!scores && !attention) return;
    for (int s = 0; s < w->sequences; s++, query += T * ${PREFIX}QUERY_STRIDE) {
        for (int h = 0; h < ${PREFIX}HEADS; h++, at += pairs) {
% if normaliser.directional then
            ${name}_head head = ${name}_head_of(w, l, h${partial and ", 0, T" or ""}, state->${of.direction} + s * T * ${PREFIX}DIRECTION_WIDTH);
% else
            ${name}_head head = ${name}_head_of(w, l, h${partial and ", 0, T" or ""});
% end
            turn_${name}_keys(T, query + h * ${PREFIX}HEAD_WIDTH, w->${name}.columns);
            trace_${name}_head(&head, query + h * ${PREFIX}HEAD_WIDTH, state->${name}, scores ? scores + at : NULL,
                    attention ? attention + at : NULL);
        }
    }
}
