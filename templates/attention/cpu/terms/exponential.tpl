% section("constants")
% local real = precision == "float64" and f64 or f32
static const real ${PREFIX}LOGIT_SCALE = ${real(logit_scale)}; /* 1 / sqrt(${PREFIX}HEAD_WIDTH)${tempered} */
% section("forward")
% include("attention/cpu/attend_weights.tpl")

% paragraph("attention/cpu/attend_one.tpl") % if tiles
% include("attention/cpu/attend.tpl")
% include("attention/cpu/attend_queries.tpl") % section("back_to_queries")
% section("trace_head")
% local logit = name .. "_logit(&queries, key, j)"
% local score = shown and invoke(shown, "head", "&queries", "j", logit) or logit
% score = inline("gained", score, { room = "columns", key = "j" })
/* Traces one head of one sequence; rows of query and key are as in attend_${name}, and kept serves as workspace.
 *
 *   scores, attention   [queries][keys] written; NULL: not requested
 */
static void trace_${name}_head(const ${name}_head *head, const real *query, const real *key, const ${name}_kept *kept,
        real *scores, real *attention) {
    real *columns = kept->weights; /* [keys][LANES] */
    for (int first = 0; first < head->T; first += LANES) {
        ${name}_queries queries;
        load_${name}_queries(head, first, query, &queries);
        % slot("gains", { from = "0", to = "head->" .. S, room = "columns" })
        % slot("far", { from = "0", to = "head->" .. S })
        vector largest = broadcast(-(real)__builtin_inf());
        for (int j = 0; j < head->${S}; j++) {
            vector score = ${score};
            largest = maximum(largest, score);
            store(columns + j * LANES, score);
        }
        if (scores) write_rows(head->T, head->${S}, first, columns, broadcast(1), scores);
        vector sum = exp_weights(head->${S}, largest, columns);
        if (attention) write_rows(head->T, head->${S}, first, columns, 1 / sum, attention);
    }
}
