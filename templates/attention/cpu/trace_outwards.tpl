% local of = cpu.attended[name]
% local direction = terms.directional and ("state->%s + s * T * %sDIRECTION_WIDTH"):format(of.contribution, PREFIX) or "NULL"
% local factor = terms.normalised and name .. "_inverse_of(total)" or "broadcast(1)"
/* rows[first + lane][j] = the lane's element of key j, times factor[lane], for the queries below T. */
static void write_${name}_rows(int T, int first, const real *keys, vector factor, real *rows) {
    for (int i = 0; i < LANES && first + i < T; i++) {
        real *row = rows + (size_t)(first + i) * (size_t)T;
        for (int j = 0; j < T; j++) row[j] = keys[j * LANES + i] * factor[i];
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
        write_${name}_group(head, first, query, kept.weights);
        if (scores) {
            write_${name}_rows(T, first, kept.weights, broadcast(1), scores);
            for (int t = first; t < T && t < first + LANES; t++)
                scores[(size_t)t * (size_t)T + (size_t)t] = -(real)__builtin_inf();
        }
        if (attention) {
% if terms.normalised then
            vector total = weigh_outwards(T, first, kept.weights, kept.chances, head->along, head->across);
% else
            weigh_outwards(T, first, kept.weights, kept.chances, head->along, head->across);
% end
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
            ${name}_head head = ${name}_head_of(w, l, h, 0, T, NULL, ${direction});
            trace_${name}_head(&head, query + h * ${PREFIX}HEAD_WIDTH, state->${name}, scores ? scores + at : NULL,
                    attention ? attention + at : NULL);
        }
    }
}
