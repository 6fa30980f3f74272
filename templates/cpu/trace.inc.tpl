% local name = attentions[1].name
% local geometric = normaliser.kind == "geometric"
% local by_head = geometric or head_argument ~= ""
% include("parts/banner.tpl", { template = "cpu/trace.inc.tpl", about = about.trace })

/* The pass is evaluation's own, so its results are. Behind each layer its queries and keys still lie in the workspace,
 * and the functions that made their logits make them again, to be kept this time. */

% if normaliser.kind == "geometric" then
% include("cpu/trace_geometric.tpl")
% else
/* rows[first + lane][j] = columns[j][lane] * factor[lane], for the queries below T. */
static void write_rows(int T, int first, const real *columns, vector factor, real *rows) {
    for (int i = 0; i < LANES && first + i < T; i++) {
        real *row = rows + (size_t)(first + i) * (size_t)T;
        for (int j = 0; j < T; j++) row[j] = columns[j * LANES + i] * factor[i];
    }
}

/* One head of one sequence, query and key rows as in attend_${name}.
 *
 *   columns             [keys][LANES] scratch
 *   scores, attention   [T][T] query by key, written; NULL: not wanted
 */
static void trace_head_${name}(int T, const real *query,
        ${head_argument}real *columns, real *scores, real *attention) {
    const real *key = query + WIDTH;
    for (int first = 0; first < T; first += LANES) {
        query_group queries;
        vector sum = {0};
        load_queries(${relative_hand_on}T, first, query, &queries);
        vector largest = ${scored.open0}pair_logit(&queries, key, 0)${scored.close};
        for (int j = 0; j < T; j++) {
            vector logit = ${scored.open}pair_logit(&queries, key, j)${scored.close};
            largest = maximum(largest, logit);
            store(columns + j * LANES, logit);
        }
        if (scores) write_rows(T, first, columns, broadcast(1), scores);
        for (int j = 0; j < T; j++) {
            vector weight = exp_negative(load(columns + j * LANES) - largest);
            store(columns + j * LANES, weight);
            sum += weight;
        }
        if (attention) write_rows(T, first, columns, 1 / sum, attention);
    }
}
% end

/* All heads of all sequences of the layer that went through the workspace last. */
% if by_head then
static void trace_attention_${name}(const lh_cpu_step *step, int l, const workspace *w, const lh_trace *to) {
% else
static void trace_attention_${name}(const workspace *w, const lh_trace *to) {
% end
    const layer_state *state = &w->layer[0];
    const real *query = state->query_key_value;
    size_t pairs = (size_t)w->length * (size_t)w->length, at = 0;
    real *scores = to->scores, *attention = to->attention;
    if (!scores && !attention) return;
% if score.kind ~= "none" then
    score_tables tables;
    score_tables_of(step, l, &tables);
% end
    for (int s = 0; s < w->sequences; s++, query += w->length * QUERY_STRIDE) {
        for (int h = 0; h < HEADS; h++, at += pairs) {
% if geometric then
% if normaliser.directional then
            const real *direction = state->attention.direction + s * w->length * DIRECTION_WIDTH;
            geometric_head head = head_of(step, l, h, direction, w->head.columns);
% else
            geometric_head head = head_of(step, l, h, w->head.columns);
% end
            turn_keys(w->length, query + h * HEAD_WIDTH, w->head.columns);
            trace_head_${name}(&head, w->length, query + h * HEAD_WIDTH, state->attention, scores ? scores + at : NULL,
                    attention ? attention + at : NULL);
% else
% if relative.kind ~= "none" then
            relative_head relative = relative_of(step, l, h, NULL);
% end
% if score.kind ~= "none" then
            score_head score = {&tables, ${score.trains and "NULL, " or ""}h};
% end
            trace_head_${name}(w->length, query + h * HEAD_WIDTH, ${head_pass}state->weights,
                    scores ? scores + at : NULL, attention ? attention + at : NULL);
% end
        }
    }
}

static void trace_activation(const workspace *w, const lh_trace *to) {
    if (to->activation) memcpy(to->activation, w->output, (size_t)w->tokens * WIDTH * sizeof(real));
}

/* Sites as spec.c lists them: the embedding, then attention and output of every layer. */
static void trace_block(const lh_cpu_step *step, const lh_cpu_block *block, void *memory, const lh_trace *to,
        lh_sums *sums) {
    const parameters *p = step->parameters;
    lh_shape shape = block_shape(step, block);
    workspace w;
    lay_out(&w, memory, &shape, LH_MODE_EVALUATE);
    embed(step, block, &w, w.output);
    trace_activation(&w, to++);
    for (int l = 0; l < LAYERS; l++) {
        layer_forward(step, ${layer_pass}&p->layer[l], &w.layer[0], w.output);
        trace_attention_${name}(${by_head and "step, l, " or ""}&w, to++);
        trace_activation(&w, to++);
    }
    classify(step, block, p, &w, sums);
}
