typedef struct layer_parameters {
    real none;
% for _, p in ipairs(score.learned) do
% if p.per_layer then
    real ${p.member}[${p.room}];
% end
% end
} layer_parameters;
typedef struct parameters {
    layer_parameters layer[LAYERS];
% for _, p in ipairs(score.learned) do
% if not p.per_layer then
    real ${p.member}[${p.room}];
% end
% end
} parameters;
typedef struct shared {
    int32_t position[LAYERS][TOKENS], distance[LAYERS][TOKENS];
} shared;
typedef struct lh_cpu_step {
    lh_shape shape;
    const void *parameters;
    void *shared;
} lh_cpu_step;
enum { SCORE_SETS = ${score.sets} };
% if positions.distance.kind == "drawn" then
INLINE int drawn_distance(const int32_t *distance, int offset) {
    return offset < 0 ? -distance[-offset] : distance[offset];
}
% elseif positions.distance.kind == "clamped" then
INLINE int drawn_distance(const int32_t *distance, int offset) {
    return offset < 0 ? ${max_position} - distance[-offset] : ${max_position} - 1;
}
% end
% include("cpu/score.inc.tpl")

static bool run(char *message, size_t size) {
    static const real want_score[] = {${case.scores}};
    static const real want_slope[] = {${case.slopes}};
% if case.drawn_text then
    static const int32_t drawn[LAYERS][TOKENS] = ${case.drawn_text};
% end
    parameters p, g;
    bool good = true;
    memset(&p, 0, sizeof p);
    memset(&g, 0, sizeof g);
% for _, list in ipairs(case.lists) do
    {
        static const real values[] = {${list.values}};
        memcpy(p.${list.member}, values, sizeof values);
    }
% end
    lh_cpu_step step = {.shape = {1, {TOKENS, 0}, 1}, .parameters = &p};
    step.shared = zeros(score_start(TOKENS) + SCORE_SETS * score_bytes(TOKENS));
% if case.drawn_text then
    memcpy(((shared *)step.shared)->position, drawn, sizeof drawn);
    memcpy(((shared *)step.shared)->distance, drawn, sizeof drawn);
% end
% if score.making[1] then
    for (int l = 0; l < SCORE_SETS; l++) make_score_set(&step, l);
% end
    char *sums = zeros(SCORE_SETS * score_bytes(TOKENS));
    score_tables gradients[SCORE_SETS];
    size_t used = 0;
    for (int l = 0; l < SCORE_SETS; l++) lay_out_score(&gradients[l], sums, &used, TOKENS);
    for (int l = 0; l < LAYERS; l++) {
        for (int h = 0; h < HEADS; h++) {
            const int T = TOKENS;
            score_tables tables;
            score_tables_of(&step, l, &tables);
% if score.trains then
            score_head head = {&tables, &gradients[${score.set_of_layer}], h}, *score = &head;
% else
            score_head head = {&tables, h}, *score = &head;
% end
            for (int first = 0; first < T; first += LANES) {
% if score.gathers then
                score_group gathered;
                memset(&gathered, 0, sizeof gathered);
% end
                for (int j = 0; j < T; j++) {
                    size_t at = (size_t)((l * HEADS + h) * TOKENS + j) * TOKENS + (size_t)first;
                    vector logit = load_some(given_logits + at, T - first);
                    vector got = score_pair(score, first, j, logit);
                    good = close_to(got, want_score + at, T - first, 1e-9, "score", message, size) && good;
                    vector dscore = load_some(given_weights + at, T - first);
% if score.trains then
                    vector live_inverse = keep_where(less_than(counting(first, 1), broadcast(T)), broadcast(1));
% end
% if score.grads then
                    vector slope = score_pair_grad(score, ${score.grad_pass}dscore);
% else
                    vector slope = dscore;
% end
                    good = close_to(slope, want_slope + at, T - first, 2e-7, "slope", message, size) && good;
                }
% if score.gathers then
                score_group_end(score, &gathered, T, first);
% end
            }
        }
    }
% if score.trains then
    for (int l = 0; l < SCORE_SETS; l++) {
        score_tables tables;
        score_tables_of(&step, l, &tables);
        end_score(&step, l, &tables, &gradients[l], &g);
    }
% end
% for _, list in ipairs(case.lists) do
    {
        static const real gradient[] = {${list.gradients}};
        good = all_close(g.${list.member}, gradient, ${list.count}, 2e-6, "${list.member}", message, size) && good;
    }
% end
    free(sums);
    free(step.shared);
    return good;
}
