% include("parts/banner.tpl", { template = "cpu/score.inc.tpl", about = about.score })

% for _, c in ipairs(score.constants) do
% if #c.lines == 1 then
static const real ${c.name}[] = {${c.lines[1]}};
% else
static const real ${c.name}[] = {
% for _, line in ipairs(c.lines) do
        ${line},
% end
};
% end
% end
% if score.constants[1] then

% end
/* What the score reads in the pair loop: tables that all sequences of a batch share, made once per step.
% if score.trains then
 * Gradients lie in the same places.
% end
% if score.has.distance then
 * A table by query - key starts T - 1 elements before its pointer.
% end
 */
typedef struct score_tables {
    int queries; /* T, filled up to whole vectors: elements of one head by query or key */
% if score.has.distance then
    int distances; /* elements of one head by query - key */
% end
% if score.has.sum then
    int sums; /* by query + key */
% end
% if score.has.pair then
    size_t pairs; /* [T][queries] */
% end
% for _, t in ipairs(score.tables) do
    real *${t.name};${t.about}
% if t.row then
    real *${t.row}; /* of one group of queries, among the gradients alone */
% end
% end
} score_tables;

/* Places a set of tables for T tokens into memory; NULL only counts. */
static void lay_out_score(score_tables *s, char *memory, size_t *used, int T) {
    s->queries = round_up(T, LANES);
% if not score.tables[1] then
    (void)memory;
    (void)used;
% end
% if score.has.distance then
    s->distances = round_up(T - 1, LANES) + s->queries + LANES;
% end
% if score.has.sum then
    s->sums = 2 * s->queries + LANES;
% end
% if score.has.pair then
    s->pairs = (size_t)T * (size_t)s->queries;
% end
% for _, t in ipairs(score.tables) do
    s->${t.name} = take(memory, used, (size_t)${t.count_text} * sizeof(real));
% if t.row then
    s->${t.row} = take(memory, used, (size_t)${t.row_count_text} * sizeof(real));
% end
% end
% if score.has.distance then
    if (!memory) return;
% for _, t in ipairs(score.tables) do
% if t.class == "distance" then
    s->${t.name} += T - 1;
% if t.row then
    s->${t.row} += T - 1;
% end
% end
% end
% end
}

INLINE size_t score_bytes(int T) {
    score_tables s;
    size_t bytes = 0;
    lay_out_score(&s, NULL, &bytes, T);
    return bytes;
}

/* The sets lie behind the struct shared${relative.behind and " and what relative vectors need" or ""}. */
INLINE size_t score_start(int T) {
% if relative.behind then
    return (sizeof(shared) + behind_shared_bytes(T) + 63) / 64 * 64;
% else
    (void)T;
    return (sizeof(shared) + 63) / 64 * 64;
% end
}

/* The set that layer l reads. */
static void score_tables_of(const lh_cpu_step *step, int l, score_tables *s) {
    int T = step->shape.length[0];
    size_t used = 0;
% if score.per_layer then
    lay_out_score(s, (char *)step->shared + score_start(T) + (size_t)l * score_bytes(T), &used, T);
% else
    (void)l;
    lay_out_score(s, (char *)step->shared + score_start(T), &used, T);
% end
}

% if score.uses.distances_from or score.end_uses.distances_from then
/* LANES signed distances, of query - key = o, o + 1, ... */
static vector distances_from(const int32_t *drawn, int o, int T) {
    vector x = {0};
    for (int k = 0; k < LANES; k++) x[k] = (real)drawn_distance(drawn, o + k < T ? -o - k : 1 - T);
    return x;
}

% end
% if score.making[1] then
/* Fills a set of tables${score.set_words}. */
static void make_score(const lh_cpu_step *step, int l, const score_tables *s) {
% if score.uses.p then
    const parameters *p = step->parameters;
% end
% if score.uses.position then
    const int32_t *position = ((const shared *)step->shared)->position[${positions.layer_index}];
% end
% if score.uses.distance then
    const int32_t *drawn = ((const shared *)step->shared)->distance[${positions.distance.layer_index}]${positions.distance.middle};
% end
% if score.uses.T then
    int T = step->shape.length[0];
% end
% if not score.uses.l then
    (void)l;
% end
% if not score.uses.step then
    (void)step;
% end
% for _, nest in ipairs(score.making) do
    % include("cpu/score_nest.tpl", { nest = nest })
% end
}

static void make_score_set(const lh_cpu_step *step, int l) {
    score_tables s;
    score_tables_of(step, l, &s);
    make_score(step, l, &s);
}

% end
/* One head's tables, and in training their gradients. */
typedef struct score_head {
% if score.trains then
    const score_tables *values, *gradients;
% else
    const score_tables *values;
% end
    int h;
} score_head;

/* The score of LANES queries, from i on, with key j. */
INLINE vector score_pair(const score_head *score, int i, int j, vector logit) {
% if score.pair_uses.s then
    const score_tables *s = score->values;
% end
% if score.pair_uses.h then
    int h = score->h;
% end
% for _, name in ipairs(score.pair_unused) do
    (void)${name};
% end
    % include("parts/statements.tpl", { list = score.pair })
}
% if score.grads then

% if score.gathers then
/* What the gradients of one group's queries add up on their way to the tables; diagonals move on by a lane per key. */
typedef struct score_group {
% for _, t in ipairs(score.gathered) do
    vector ${t.name};
% end
} score_group;

% end
% if score.trains then
/* From the gradient of the score that of the logit, both without the factor inverse_sum. weighted is that of the score
 * with the factor, 0 in lanes beyond the last query. */
% else
/* From the gradient of the score that of the logit, both without the factor inverse_sum. */
% end
INLINE vector score_pair_grad(const score_head *score,
        ${score.grad_arguments}vector dscore) {
% if score.grad_uses.s then
    const score_tables *s = score->values;
% end
% if score.grad_uses.d then
    const score_tables *d = score->gradients;
% end
% if score.grad_uses.h then
    int h = score->h;
% end
% for _, name in ipairs(score.grad_unused) do
    (void)${name};
% end
    % include("parts/statements.tpl", { list = score.pair_gradient })
}
% end
% if score.gathers then

/* Adds what a group of queries, from i on, has gathered to the tables' gradients. */
INLINE void score_group_end(const score_head *score, const score_group *group, int T, int i) {
    const score_tables *d = score->gradients;
% if score.gathered_uses.h then
    int h = score->h;
% end
% for _, name in ipairs(score.gathered_unused) do
    (void)${name};
% end
% for _, t in ipairs(score.gathered) do
% if t.class == "uniform" then
    ${t.element} += sum_lanes(group->${t.name});
% elseif t.class == "query" then
    add_at(${t.address}, group->${t.name});
% elseif t.class == "distance" then
    store(d->${t.row} + i + LANES, (vector){0});
    for (int o = i - T + 1; o < i + LANES; o += LANES)
        add_at(${t.address}, load(d->${t.row} + o));
% elseif t.class == "sum" then
    store(d->${t.row} + i + T + LANES - 1, (vector){0});
    for (int t = i; t < i + T + LANES - 1; t += LANES) add_at(${t.address}, load(d->${t.row} + t));
% end
% end
}
% end
% if score.trains then

/* Takes the gradients of a set of tables back to the parameters. */
static void end_score(const lh_cpu_step *step, int l, const score_tables *s, const score_tables *d, parameters *g) {
% if score.end_uses.p then
    const parameters *p = step->parameters;
% end
% if score.end_uses.position then
    const int32_t *position = ((const shared *)step->shared)->position[${positions.layer_index}];
% end
% if score.end_uses.distance then
    const int32_t *drawn = ((const shared *)step->shared)->distance[${positions.distance.layer_index}]${positions.distance.middle};
% end
% if score.end_uses.T then
    int T = step->shape.length[0];
% end
% if not score.end_uses.step then
    (void)step;
% end
% for _, name in ipairs(score.end_unused) do
    (void)${name};
% end
% for _, nest in ipairs(score.gradients) do
    % include("cpu/score_nest.tpl", { nest = nest })
% end
}
% end
