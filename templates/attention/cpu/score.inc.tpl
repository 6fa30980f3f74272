% include("parts/banner.tpl", { template = "attention/cpu/score.inc.tpl", about = about.score[name] })

% local lengths = cross and "int T, int S" or "int T"
% local T_S, S = cross and "T, S" or "T", cross and "S" or "T"
% local of_shape = ("shape->length[%d]"):format(queries.stream) .. (cross and (", shape->length[%d]"):format(keys.stream) or "")
% local middle = positions.distance.independent and " + " .. PREFIX .. "MAX_POSITION" or ""
% local dscores = score.trains and ("const %s_score_tables *d, "):format(name) or ""
% local group = score.gathers and name .. "_score_group *group, " or ""
% local spans = mask.kind ~= "none"
% local to, and_begin, less_begin = spans and "end" or S, spans and " + begin" or "", spans and " - begin" or ""
% local logit, weighted = score.recomputes and "vector logit, " or "", score.trains and "vector weighted, " or ""
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
 * A table by query - key starts ${S} - 1 elements before its pointer.
% end
 */
typedef struct ${name}_score_tables {
% if cross then
    int queries, keys; /* T and S, filled up to whole vectors: elements of one head by query, and by key */
% else
    int queries; /* T, filled up to whole vectors: elements of one head by query or key */
% end
% if score.has.distance then
    int distances; /* elements of one head by query - key */
% end
% if score.has.sum then
    int sums; /* by query + key */
% end
% if score.has.pair then
    size_t pairs; /* [${S}][queries] */
% end
% for _, t in ipairs(score.tables) do
    real *${t.name};${t.about}
% if t.row then
    real *${t.row}; /* of one group of queries, among the gradients alone */
% end
% end
} ${name}_score_tables;

/* Places a set of tables for ${cross and "T queries and S keys" or "T tokens"} into memory; NULL only counts. */
static void lay_out_${name}_scores(${name}_score_tables *s, char *memory, size_t *used, ${lengths}) {
    s->queries = round_up(T, LANES);
% if cross then
    s->keys = round_up(S, LANES);
% end
% if not score.tables[1] then
    (void)memory;
    (void)used;
% end
% if score.has.distance then
    s->distances = round_up(${S} - 1, LANES) + s->queries + LANES;
% end
% if score.has.sum then
% if cross then
    s->sums = s->queries + s->keys + LANES;
% else
    s->sums = 2 * s->queries + LANES;
% end
% end
% if score.has.pair then
    s->pairs = (size_t)${S} * (size_t)s->queries;
% end
% for _, t in ipairs(score.tables) do
% if ranged and (t.class == "query" or t.class == "pair") then
    s->${t.name} = take(memory, used, ((size_t)${t.count_text} + LANES) * sizeof(real)); /* LANES queries from any on */
% else
    s->${t.name} = take(memory, used, (size_t)${t.count_text} * sizeof(real));
% end
% if t.row then
    s->${t.row} = take(memory, used, (size_t)${t.row_count_text} * sizeof(real));
% end
% end
% if score.has.distance then
    if (!memory) return;
% for _, t in ipairs(score.tables) do
% if t.class == "distance" then
    s->${t.name} += ${S} - 1;
% if t.row then
    s->${t.row} += ${S} - 1;
% end
% end
% end
% end
}

INLINE size_t ${name}_score_bytes(${lengths}) {
    ${name}_score_tables s;
    size_t bytes = 0;
    lay_out_${name}_scores(&s, NULL, &bytes, ${T_S});
    return bytes;
}

/* The sets lie behind ${relative.behind and "what vectors of distances need" or "the struct shared"}. */
INLINE size_t ${name}_score_start(const lh_shape *shape) {
% if relative.behind then
    return (${name}_start(shape) + ${name}_relative_bytes(${of_shape}) + 63) / 64 * 64;
% else
    return ${name}_start(shape);
% end
}

/* The set that layer l reads. */
static void ${name}_score_tables_of(const lh_cpu_step *step, int l, ${name}_score_tables *s) {
    int T = step->shape.length[${queries.stream}];
% if cross then
    int S = step->shape.length[${keys.stream}];
% end
    char *tables = (char *)step->shared + ${name}_score_start(&step->shape);
    size_t used = 0;
% if score.per_layer then
    lay_out_${name}_scores(s, tables + (size_t)l * ${name}_score_bytes(${T_S}), &used, ${T_S});
% else
    (void)l;
    lay_out_${name}_scores(s, tables, &used, ${T_S});
% end
}

% if score.uses.distance or score.end_uses.distance then
/* LANES signed distances, of query - key = o, o + 1, ... */
static vector ${prefix}distances_from(const int32_t *drawn, int o, int T) {
    vector x = {0};
    for (int k = 0; k < LANES; k++) x[k] = (real)${prefix}drawn_distance(drawn, o + k < T ? -o - k : 1 - T);
    return x;
}

% end
% if score.making[1] then
/* Fills a set of tables${score.set_words}. */
static void make_${name}_score(const lh_cpu_step *step, int l, const ${name}_score_tables *s) {
% if score.uses.p then
    const parameters *p = step->parameters;
% end
% if score.uses.position then
    const int32_t *position = ((const shared *)step->shared)->${prefix}position[${positions.layer_index}];
% end
% if score.uses.key_position then
    const int32_t *key_position = ((const shared *)step->shared)->${prefix}key_position[${positions.layer_index}];
% end
% if score.uses.distance then
    const int32_t *drawn = ((const shared *)step->shared)->${prefix}distance[${positions.distance.layer_index}]${middle};
% end
% if score.uses.T then
    int T = step->shape.length[${queries.stream}];
% end
% if score.uses.S then
    int S = step->shape.length[${keys.stream}];
% end
% if not score.uses.l then
    (void)l;
% end
% if not score.uses.step then
    (void)step;
% end
% for _, nest in ipairs(score.making) do
    % include("attention/cpu/score_nest.tpl", { nest = nest })
% end
}

static void make_${name}_score_set(const lh_cpu_step *step, int l) {
    ${name}_score_tables s;
    ${name}_score_tables_of(step, l, &s);
    make_${name}_score(step, l, &s);
}

% end
/* The score of LANES queries, from i on, with key j. */
INLINE vector ${name}_score_pair(const ${name}_score_tables *s, int h, int i, int j, vector logit) {
% for _, unused in ipairs(score.pair_unused) do
    (void)${unused};
% end
    % include("parts/statements.tpl", { list = score.pair })
}
% if score.row and tiles then

/* The score of query i with LANES keys, from j on. */
INLINE vector ${name}_score_row(const ${name}_score_tables *s, int h, int i, int j, vector logit) {
% for _, unused in ipairs(score.row_unused) do
    (void)${unused};
% end
    % include("parts/statements.tpl", { list = score.row })
}
% end
% if score.grads then

% if score.gathers then
/* What the gradients of one group's queries add up on their way to the tables; diagonals move on by a lane per key. */
typedef struct ${name}_score_group {
% for _, t in ipairs(score.gathered) do
    vector ${t.name};
% end
} ${name}_score_group;

% end
% if score.trains then
/* From the gradient of the score that of the logit, both without the factor inverse_sum. weighted is that of the score
 * with the factor, 0 in lanes beyond the last query. */
% else
/* From the gradient of the score that of the logit, both without the factor inverse_sum. */
% end
INLINE vector ${name}_score_pair_grad(const ${name}_score_tables *s, ${dscores}int h,
        ${group}int i, int j, ${logit}${weighted}vector dscore) {
% for _, unused in ipairs(score.grad_unused) do
    (void)${unused};
% end
    % include("parts/statements.tpl", { list = score.pair_gradient })
}
% end
% if score.gathers then

/* Adds what a group of queries, from i on, has gathered to the tables' gradients. */
% if spans then
INLINE void end_${name}_score_group(const ${name}_score_tables *d, int h, const ${name}_score_group *group, int begin,
        int end, int i) {
% else
INLINE void end_${name}_score_group(const ${name}_score_tables *d, int h, const ${name}_score_group *group, int ${S},
        int i) {
% end
% for _, unused in ipairs(score.gathered_unused) do
    (void)${unused};
% end
% for _, t in ipairs(score.gathered) do
% if t.class == "uniform" then
    ${t.element} += sum_lanes(group->${t.name});
% elseif t.class == "query" then
    add_at(${t.address}, group->${t.name});
% elseif t.class == "distance" then
    store(d->${t.row} + i${less_begin} + LANES, (vector){0});
    for (int o = i - ${to} + 1; o < i${less_begin} + LANES; o += LANES)
        add_at(${t.address}, load(d->${t.row} + o));
% elseif t.class == "sum" then
    store(d->${t.row} + i + ${to} + LANES - 1, (vector){0});
    for (int t = i${and_begin}; t < i + ${to} + LANES - 1; t += LANES) add_at(${t.address}, load(d->${t.row} + t));
% end
% end
}
% end
% if score.trains then

/* Takes the gradients of a set of tables back to the parameters. */
static void end_${name}_score(const lh_cpu_step *step, int l, const ${name}_score_tables *s,
        const ${name}_score_tables *d, parameters *g) {
% if score.end_uses.p then
    const parameters *p = step->parameters;
% end
% if score.end_uses.position then
    const int32_t *position = ((const shared *)step->shared)->${prefix}position[${positions.layer_index}];
% end
% if score.end_uses.key_position then
    const int32_t *key_position = ((const shared *)step->shared)->${prefix}key_position[${positions.layer_index}];
% end
% if score.end_uses.distance then
    const int32_t *drawn = ((const shared *)step->shared)->${prefix}distance[${positions.distance.layer_index}]${middle};
% end
% if score.end_uses.T then
    int T = step->shape.length[${queries.stream}];
% end
% if score.end_uses.S then
    int S = step->shape.length[${keys.stream}];
% end
% if not score.end_uses.step then
    (void)step;
% end
% for _, unused in ipairs(score.end_unused) do
    (void)${unused};
% end
% for _, nest in ipairs(score.gradients) do
    % include("attention/cpu/score_nest.tpl", { nest = nest })
% end
}
% end
