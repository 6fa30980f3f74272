% local c = score.cuda
% include("parameters.tpl")
enum { SCORE_SETS = ${score.set_count} };
typedef struct step_view {
    const parameters *p;
    const int *draws;
    int T;
} step_view;
INLINE const int *find_positions(const step_view *v, int l) { return v->draws + l * v->T; }
INLINE const int *find_distances(const step_view *v, int l) { return v->draws + l * v->T; }
% include("parts/drawn_distance.tpl")
% include("attention/cuda/scalar_layout.tpl", { scalar = score })

% include("attention/cuda/scalar.tpl", { scalar = score })
% if score.has_trained_tables then

/* The gradients that the tables of layer l gather, added to d: every element has one owner. */
INLINE void gather(const evaluation<parameters> &a, int l, const score_tables *s, ${c.gradient_set.type} *d) {
    const int T = TOKENS;
% for _, list in ipairs(c.lists) do
% local owners = { uniform = "1", query = "T", key = "T", distance = "2 * T - 1", sum = "2 * T - 1", pair = "T * T" }
% local pairs_of = { uniform = "T * T", pair = "1" }
    for (int e = (int)threadIdx.x; e < HEADS * (${owners[list.class]}); e += THREADS) {
        const int h = e / (${owners[list.class]});
        real out[${list.count}] = {0};
% if list.class == "query" then
        const int i = e % T;
% elseif list.class == "key" then
        const int j = e % T;
% elseif list.class == "distance" then
        const int o = e % (2 * T - 1) - (T - 1);
% elseif list.class == "sum" then
        const int t = e % (2 * T - 1);
% elseif list.class == "pair" then
        const int i = e % T, j = e / T % T;
% end
        for (int x = 0; x < ${pairs_of[list.class] or "T"}; x++) {
% if list.class == "query" then
            const int j = x;
% elseif list.class == "key" then
            const int i = x;
% elseif list.class == "distance" then
            const int i = x, j = x - o;
% elseif list.class == "sum" then
            const int i = x, j = t - x;
% elseif list.class == "uniform" then
            const int i = x % T, j = x / T;
% end
% if list.class == "distance" or list.class == "sum" then
            if (j < 0 || j >= T) continue;
% end
            const int at = ((l * HEADS + h) * T + j) * T + i;
            % call("score_grad_" .. list.class, "s", "NULL", "T", "T", "h", "i", "j", "NULL", "NULL", "a.logits[at]", "a.weights[at]", "out")
        }
% for k, t in ipairs(list) do
% local out = ("out[%d]"):format(k - 1)
        ${t.target} += ${out};
% end
    }
% end
}
% end

__global__ void ${kernel}(const evaluation<parameters> a) {
    const int first = (int)threadIdx.x, T = TOKENS;
    const step_view v = {a.p, a.draws, T};
    score_tables tables[SCORE_SETS];
    size_t used = 0;
    for (int l = 0; l < SCORE_SETS; l++)
        % call("lay_out_score", "&tables[l]", "a.memory", "&used", "T", "T")
% if c.stages[1] then
    for (int stage = 0; stage < ${c.stage_count}; stage++) {
        for (int l = 0; l < SCORE_SETS; l++)
            % call("make_score", "stage", "&v", "l", "&tables[l]", "first", "THREADS")
        __syncthreads();
    }
% end
    for (int e = first; e < LAYERS * HEADS * T * T; e += THREADS) {
        const int i = e % T, j = e / T % T, h = e / (T * T) % HEADS, l = e / (T * T * HEADS);
        const score_tables *s = &tables[${score.per_layer and "l" or "0"}];
        a.scores[e] = ${invoke("score_pair", "s", "NULL", "T", "T", "h", "i", "j", "NULL", "a.logits[e]")};
% if c.logit_grad then
        a.slopes[e] = ${invoke("score_logit_grad", "s", "NULL", "T", "T", "h", "i", "j", "NULL", "NULL", "a.logits[e]", "a.weights[e]")};
% else
        a.slopes[e] = a.weights[e];
% end
    }
% if score.has_trained_tables then
    ${c.gradient_set.type} gradients[SCORE_SETS];
    real *sums = (real *)(a.memory + used), *scratch;
    for (int l = 0; l < SCORE_SETS; l++)
        % call(c.gradient_set.lay_out, "&gradients[l]", "a.memory", "&used", "T", "T")
    scratch = (real *)(a.memory + used);
    for (real *x = sums + first; x < scratch; x += THREADS) *x = 0;
    for (int l = 0; l < LAYERS; l++) {
        __syncthreads();
        gather(a, l, &tables[${score.per_layer and "l" or "0"}], &gradients[${score.per_layer and "l" or "0"}]);
    }
    for (int l = 0; l < SCORE_SETS; l++) {
        __syncthreads();
        % call("end_score", "&v", "l", "&tables[l]", "&gradients[l]", "a.g", "scratch", "staging()")
    }
% end
}
EMULATED_KERNEL(${kernel})

/* As in formula.tpl. */
static void evaluate(const parameters *p, const int (*sampled)[TOKENS], const real *logits, const real *weights,
        real *scores, real *slopes, parameters *g) {
    const evaluation<parameters> e = {p, sampled ? sampled[0] : NULL, logits, weights, scores, slopes, g, NULL};
    size_t bytes = SCORE_SETS * ${invoke("score_bytes", "TOKENS", "TOKENS")};
% if score.has_trained_tables then
    bytes += SCORE_SETS * ${invoke(c.gradient_set.bytes, "TOKENS", "TOKENS")};
% end
% if c.work[1] then
    bytes += ${invoke("score_work_bytes", "TOKENS", "TOKENS")};
% end
    run_in_all_orders("${kernel}", e, bytes, ORDERS);
}
