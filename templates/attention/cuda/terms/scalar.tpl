% local c, T = scalar.cuda, "block()->view." .. attends.T
% local S = "block()->view." .. attends.S
% local sets = scalar.sets > 1 and PREFIX .. "SCORE_SETS * " or ""
% local sets_about = scalar.sets > 1 and PREFIX .. "SCORE_SETS sets of" or "a set of"
% section("members")
const ${prefix}score_tables *score;
% section("set_members")
a.score = score;
% section("tables")
% local tables_of = prefix .. "score_tables_of"
${prefix}score_tables tables;
% call(tables_of, "v", "l", "&tables")
% section("score")
% local pair, s, T_of, S_of, h_of = prefix .. "score_pair", a .. "score", a .. "T", a .. "S", a .. "h"
${invoke(pair, s, T_of, S_of, h_of, "i", j, inner)}
% section("gradient_of_logit")
% if c.logit_grad and dlogit then
% local logit_grad = prefix .. "score_logit_grad"
const real dlogit = ${invoke(logit_grad, "a.score", "a.T", "a.S", "a.h", "i", "j", "logit", "dscore")};
% end
% section("start_query")
% if c.gathers.uniform then
real gathered[${c.uniform_count}] = {0};
% end
% section("gather_by_query")
% if c.gathers.uniform then
% call(prefix .. "score_grad_uniform", "a.score", "a.T", "a.S", "a.h", "i", "j", "logit", attends.dscore, "gathered")
% end
% section("finish_query")
% if c.gathers.uniform then
${attends.once}for (int k = 0; k < ${c.uniform_count}; k++) w->${prefix}head_sums[k * sequences * ${PREFIX}HEADS * v->${attends.T} + task] = gathered[k];
% end
% section("keep_score")
% if attends.pair_scores then
${attends.once}w->${prefix}pair_scores[column + (size_t)i * v->${attends.S}] = dscore;
% end
% section("behind_keys")
% if scalar.trains then
% local bytes, of_layer = prefix .. "score_gradient_bytes", ""
% if scalar.per_layer then
% of_layer = " + (size_t)block()->l * " .. invoke(bytes, T, S)
% end

/* Where the gradients of the layer's tables go. */
INLINE void ${prefix}score_gradients_of(${prefix}score_gradients *d) {
    size_t used = 0;
    % call(prefix .. "lay_out_score_gradients", "d", "block()->sums." .. prefix .. "score" .. of_layer, "&used", T, S)
}
% end
% section("behind_owners")
% if c.gathers.uniform then

/* What the queries of a shard got for the numbers of the heads: a warp per number, in a fixed order. */
INLINE void ${prefix}attend_heads(void) {
    const workspace *w = &block()->work;
    const int T = block()->view.${attends.T}, sequences = block()->sequences;
% if not scalar.per_layer then
    const int l = block()->l;
% end
    ${prefix}score_gradients gathered, *d = &gathered;
    ${prefix}score_gradients_of(d);
    const int lane = threadIdx.x % WARP;
    for (int h = threadIdx.x / WARP; h < ${PREFIX}HEADS; h += WARPS) {
        real sum;
% for k, t in ipairs(c.gathers.uniform) do
% local at = k - 1
        sum = 0;
        for (int e = lane; e < sequences * T; e += WARP)
            sum += w->${prefix}head_sums[((${at} * sequences + e / T) * ${PREFIX}HEADS + h) * T + e % T];
        sum = warp_sum(sum);
% if scalar.per_layer then
        if (lane == 0) ${t.target} = sum;
% else
        if (lane == 0) ${t.target} = l == ${stack.count} - 1 ? sum : ${t.target} + sum;
% end
% end
    }
    __syncthreads();
}
% end
% section("end_backward")
% if c.gathers.uniform then
${prefix}attend_heads();
% end
% section("view")
% local bytes, of_layer = prefix .. "score_bytes", ""
% if scalar.per_layer then
% of_layer = " + (size_t)l * " .. invoke(bytes, "v->" .. attends.T, "v->" .. attends.S)
% end

/* The tables that layer l's score reads. */
% define("INLINE void " .. prefix .. "score_tables_of", "const step_view *v", "int l", prefix .. "score_tables *s")
% if c.tables[1] then
    size_t used = 0;
% end
    % call(prefix .. "lay_out_score", "s", "v->shared." .. prefix .. "score" .. of_layer, "&used", "v->" .. attends.T, "v->" .. attends.S)
}
% section("shared_tables")
char *${prefix}score; /* ${sets_about} score_tables */
% if scalar.trains and c.work[1] then
reals ${prefix}scratch; /* of end_score */
% end
% section("lay_out_tables")
% local bytes, scratch = prefix .. "score_bytes", prefix .. "score_scratch"
t->${prefix}score = memory ? memory + used : (char *)0;
used += ${sets}${invoke(bytes, attends.T, attends.S)};
% if scalar.trains and c.work[1] then
% local sets = attends.end_by_layer and sets or ""
t->${prefix}scratch = take_reals(memory, &used, ${sets}${invoke(scratch, attends.T, attends.S)});
% end
% section("table_sums")
% if scalar.trains then
char *${prefix}score; /* ${sets_about} score_gradients */
% end
% section("lay_out_sums")
% if scalar.trains then
% local bytes = prefix .. "score_gradient_bytes"
sums->${prefix}score = memory ? memory + *used : (char *)0;
*used += ${sets}${invoke(bytes, attends.T, attends.S)};
% end
% section("begin_tables")
% if c.stages[2] then
for (int stage = 0; stage < ${PREFIX}SCORE_STAGES; stage++) {
    % include("attention/cuda/scalar_make.tpl")
    if (stage + 1 < ${PREFIX}SCORE_STAGES) team_barrier(t);
}
% elseif c.stages[1] then
% include("attention/cuda/scalar_make.tpl")
% end
% section("end_tables")
% if scalar.trains then
% local bytes, scratch, room = prefix .. "score_gradient_bytes", prefix .. "score_scratch", "v->shared." .. prefix .. "scratch"
% local sums, set = "sums." .. prefix .. "score", scalar.sets > 1 and "l" or "0"
% if scalar.sets > 1 then
% sums = sums .. " + (size_t)l * " .. invoke(bytes, attends.T_of_view, attends.S_of_view)
% end
% if scalar.sets == 1 then
if (t->rank == 0) {
% elseif attends.end_by_layer then
% room = c.work[1] and room .. " + (size_t)l * " .. invoke(scratch, attends.T_of_view, attends.S_of_view)
for (int l = t->rank; l < ${PREFIX}SCORE_SETS; l += t->blocks) {
% else
for (int l = 0; t->rank == 0 && l < ${PREFIX}SCORE_SETS; l++) {
% end
% if c.finish.uses.s then
    ${prefix}score_tables tables;
% end
    ${prefix}score_gradients d;
% if c.finish.uses.s then
    % call(prefix .. "score_tables_of", "v", set, "&tables")
% end
    used = 0;
    % call(prefix .. "lay_out_score_gradients", "&d", sums, "&used", attends.T_of_view, attends.S_of_view)
    __syncthreads();
    % call(prefix .. "end_score", "v", set, "&tables", "&d", "g", room or "0", "staging()")
}
% end
% section("layout")

% include("attention/cuda/scalar_layout.tpl")
% section("functions")
% include("attention/cuda/scalar.tpl")

