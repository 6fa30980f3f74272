% local values = cpu.attended[name]
% local key_rows = cross and "state->" .. values.keys
% local contribution = requested_value and ("state->%s + s * %s * %s%s"):format(values.contribution, S, PREFIX,
%     requested_value.constant) or "NULL"
% slot("trace_head")

/* Traces all heads of all sequences for the layer whose queries and keys are in the workspace. */
static void trace_attention_${name}(workspace *w, int l, const ${stack.state} *state, const lh_trace *to) {
    const real *query = state->${values.queries}, *key = ${cross and key_rows or "query + WIDTH"};
    const int T = w->${queries.stream_prefix}length, S = w->${keys.stream_prefix}length;
    size_t pairs = (size_t)T * (size_t)${S}, offset = 0;
    real *scores = to->scores, *attention = to->attention;
    if (!scores && !attention) return;
    % slot("trace_tables")
    for (int s = 0; s < w->sequences; s++) {
        % slot("sequence", { request_name = contribution, query_pointer = "query", from_token = "0", to_token = "T" })
        for (int h = 0; h < ${PREFIX}HEADS; h++, offset += pairs) {
            ${name}_head head = make_${name}_head(w, l, h, 0, T, &tables, ${contribution});
            const int channel = h * ${PREFIX}HEAD_WIDTH;
            trace_${name}_head(&head, query + channel, key + channel, &state->${name},
                    scores ? scores + offset : NULL, attention ? attention + offset : NULL);
        }
        query += T * ${PREFIX}QUERY_STRIDE;
        key += ${S} * ${K};
    }
}
