% include("parameters.tpl")
typedef struct shared {
    int32_t position[LAYERS][TOKENS], distance[LAYERS][TOKENS];
} shared;
typedef struct lh_cpu_step {
    lh_shape shape;
    const void *parameters;
    void *shared;
} lh_cpu_step;
enum { SCORE_SETS = ${score.set_count} };
% if positions.distance.kind == "drawn" then
INLINE int drawn_distance(const int32_t *distance, int offset) {
    return offset < 0 ? -distance[-offset] : distance[offset];
}
% elseif positions.distance.kind == "clamped" then
INLINE int drawn_distance(const int32_t *distance, int offset) {
    return offset < 0 ? ${max_position} - distance[-offset] : ${max_position} - 1;
}
% end
% include("attention/cpu/step_tables_start.tpl")
% include("attention/cpu/scalar.inc.tpl")
% include("attention/cpu/step_tables_end.tpl")

/* Scores, weighted gradients of the logits and those of the parameters, added to g. Arrays [LAYERS][HEADS][keys][queries];
 * sampled: positions or distances of each layer, or NULL. */
static void evaluate(const parameters *p, const int32_t (*sampled)[TOKENS], const real *logits, const real *weights,
        real *scores, real *slopes, parameters *g) {
    lh_cpu_step step = {.shape = {1, {TOKENS, 0}, 1}, .parameters = p};
    step.shared = reserve_zeros(self_end(&step.shape));
    if (sampled) {
        memcpy(((shared *)step.shared)->position, sampled, sizeof(int32_t[LAYERS][TOKENS]));
        memcpy(((shared *)step.shared)->distance, sampled, sizeof(int32_t[LAYERS][TOKENS]));
    }
% if score.filling_nests[1] then
    for (int l = 0; l < SCORE_SETS; l++) ${invoke("make_self_score_set", "&step", "l")};
% end
% if score.has_trained_tables then
    char *sums = reserve_zeros(SCORE_SETS * self_score_bytes(TOKENS));
    self_score_tables gradients[SCORE_SETS];
    size_t used = 0;
    for (int l = 0; l < SCORE_SETS; l++) ${invoke("lay_out_self_scores", "&gradients[l]", "sums", "&used", "TOKENS")};
% end
    for (int l = 0; l < LAYERS; l++) {
        for (int h = 0; h < HEADS; h++) {
            const int T = TOKENS;
            const self_score_tables tables = find_self_score_tables(&step, l);
% if score.has_trained_tables then
            const self_score_tables *dscores = &gradients[${score.per_layer and "l" or "0"}];
% end
            for (int first = 0; first < T; first += LANES) {
% if score.has_gathered_tables then
                self_score_group gathered;
                memset(&gathered, 0, sizeof gathered);
% end
                for (int j = 0; j < T; j++) {
                    size_t at = (size_t)((l * HEADS + h) * TOKENS + j) * TOKENS + (size_t)first;
% local logit = "load_some(logits + at, T - first)"
                    store_some(scores + at, T - first, ${invoke("self_score_pair", "&tables", "NULL", "h", "first", "j", "NULL", logit)});
                    vector dscore = load_some(weights + at, T - first);
% if score.has_trained_tables then
                    bits seen = less_than(counting(first, 1), broadcast(T));
                    vector live_inverse = keep_where(seen, broadcast(1));
% end
% if score.needs_pair_gradient then
                    vector slope = self_score_pair_grad(&tables, dscores, NULL, NULL, h, &gathered, first, j, NULL, seen,
                        ${logit}, dscore * live_inverse, live_inverse, dscore);
                    store_some(slopes + at, T - first, slope);
% else
                    store_some(slopes + at, T - first, dscore);
% end
                }
% if score.has_gathered_tables then
                end_self_score_group(dscores, NULL, h, &gathered, T, first);
% end
            }
        }
    }
% if score.has_trained_tables then
    for (int l = 0; l < SCORE_SETS; l++) end_self_score(&step, l, &gradients[l], g);
    free(sums);
% else
    (void)g;
% end
    free(step.shared);
}
