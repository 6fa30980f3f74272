% local c = scalar.cuda
% local sets = scalar.sets > 1 and PREFIX .. "SCORE_SETS * " or ""
% local sets_about = scalar.sets > 1 and PREFIX .. "SCORE_SETS sets of" or "a set of"
% section("members")
const ${prefix}score_tables *score;
% section("set_members")
a.score = score;
% section("tables")
${prefix}score_tables tables;
${prefix}score_tables_of(v, l, &tables);
% section("score")
${prefix}score_pair(${a}score, ${a}T, ${a}S, ${a}h, i, ${j}, ${inner})
% section("gradient_of_logit")
const real dlogit = ${prefix}score_logit_grad(a.score, a.T, a.S, a.h, i, j, logit, dscore); % if c.logit_grad and dlogit
% section("keep_score")
${attends.once}w->${prefix}pair_scores[column + (size_t)i * v->${attends.S}] = dscore; % if attends.pair_scores
% section("view")
% local bytes, of_layer = prefix .. "score_bytes", ""
% if scalar.per_layer then
% of_layer = " + (size_t)l * " .. invoke(bytes, "v->" .. attends.T, "v->" .. attends.S)
% end

/* Sets the addresses of the tables that layer l's score reads. */
INLINE void ${prefix}score_tables_of(const step_view *v, int l, ${prefix}score_tables *s) {
    size_t used = 0; % if c.tables[1]
    ${prefix}lay_out_score(s, v->shared.${prefix}score${of_layer}, &used, v->${attends.T}, v->${attends.S});
}
% section("shared_tables")
char *${prefix}score; /* ${sets_about} score_tables */
% section("lay_out_tables")
t->${prefix}score = memory ? memory + used : NULL;
used += ${sets}${prefix}score_bytes(${attends.T}, ${attends.S});
% section("begin_tables")
% if c.stages[2] then
for (int stage = 0; stage < ${PREFIX}SCORE_STAGES; stage++) {
    % include("attention/cuda/scalar_make.tpl")
    if (stage + 1 < ${PREFIX}SCORE_STAGES) team_barrier(t);
}
% elseif c.stages[1] then
% include("attention/cuda/scalar_make.tpl")
% end
% section("layout")

% include("attention/cuda/scalar_layout.tpl")
% section("functions")
% include("attention/cuda/scalar.tpl")

