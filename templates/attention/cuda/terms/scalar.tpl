% -- Scores that a formula computes from logits, and the tables that the formula reads.
const ${prefix}score_tables *score; % section("members")
a.score = score; % section("set_members")
const ${prefix}score_tables tables = ${prefix}find_score_tables(v, l); % section("tables")
${prefix}score_pair(${a}score, ${a}running, ${a}T, ${a}S, ${a}h, i, ${j}, sums, ${inner}) % section("score")
% section("gradient_of_logit")
% -- reads_dlogit: whether later statements read dlogit
const real dlogit = ${prefix}score_logit_grad(a.score, a.running, a.T, a.S, a.h, i, j, sums, dsums, logit, dscore); % if scalar.cuda.logit_grad and reads_dlogit
% section("keep_score")
${attends.if_first_lane}w->${prefix}pair_scores[column + (size_t)i * v->${attends.S}] = dscore; % if attends.stores_pair_scores
% section("view")
% local bytes = invoke(prefix .. "score_bytes", attends.T_of_view, attends.S_of_view)
% local layer_offset = scalar.per_layer and " + (size_t)l * " .. bytes or ""

/* The tables that layer l's score reads. */
INLINE ${prefix}score_tables ${prefix}find_score_tables(const step_view *v, int l) {
    ${prefix}score_tables s;
    size_t used = 0; % if scalar.cuda.tables[1]
    ${prefix}lay_out_score(&s, v->shared.${prefix}score${layer_offset}, &used, v->${attends.T}, v->${attends.S});
    return s;
}
char *${prefix}score; /* ${scalar.set_count_words} score_tables */ % section("shared_tables")
% section("lay_out_tables")
t->${prefix}score = (char *)reserve(memory, &used, ${scalar.times_sets}${prefix}score_bytes(${attends.T}, ${attends.S}));
% section("begin_tables")
% if scalar.cuda.stages[2] then
for (int stage = 0; stage < ${PREFIX}SCORE_STAGES; stage++) {
    % include("attention/cuda/scalar_make.tpl")
    if (stage + 1 < ${PREFIX}SCORE_STAGES) team_barrier(t);
}
% elseif scalar.cuda.stages[1] then
% include("attention/cuda/scalar_make.tpl")
% end
% section("layout")

% include("attention/cuda/scalar_layout.tpl")
% section("functions")
% include("attention/cuda/scalar.tpl")

