% -- Gradients of the learned parameters in the formula of a score.
% section("after_keys")
% local bytes = invoke(prefix .. scalar.cuda.gradient_set.bytes, "block()->view." .. attends.T, "block()->view." .. attends.S)
% local layer_offset = scalar.per_layer and " + (size_t)block()->l * " .. bytes or ""

/* The gradients of the tables that the layer reads. */
INLINE ${prefix}${scalar.cuda.gradient_set.type} ${prefix}find_score_gradients(void) {
    ${prefix}${scalar.cuda.gradient_set.type} d;
    size_t used = 0;
    ${prefix}${scalar.cuda.gradient_set.lay_out}(&d, block()->sums.${prefix}score${layer_offset}, &used, block()->view.${attends.T},
            block()->view.${attends.S});
    return d;
}
reals ${prefix}scratch; /* workspace of end_score */ % section("shared_tables") % if scalar.cuda.work[1]
% section("lay_out_tables") % if scalar.cuda.work[1]
% -- Blocks call end_score for different layers at the same time, so each layer has a workspace.
% local times_sets = attends.calls_end_score_by_layer and scalar.times_sets or ""
t->${prefix}scratch = reserve_reals(memory, &used, ${times_sets}${prefix}score_work_bytes(${attends.T}, ${attends.S}) / sizeof(real));
char *${prefix}score; /* ${scalar.set_count_words} ${scalar.cuda.gradient_set.type} */ % section("table_sums")
% section("lay_out_sums")
sums->${prefix}score = (char *)reserve(memory, used,
        ${scalar.times_sets}${prefix}${scalar.cuda.gradient_set.bytes}(${attends.T}, ${attends.S}));
% section("end_tables")
% local set_index, set_offset, work_offset = "0", "", ""
% if scalar.set_count > 1 then
% local T, S = attends.T_of_view, attends.S_of_view
% set_index, set_offset = "l", " + (size_t)l * " .. invoke(prefix .. scalar.cuda.gradient_set.bytes, T, S)
% if attends.calls_end_score_by_layer then
% work_offset = (" + (size_t)l * %s / sizeof(real)"):format(invoke(prefix .. "score_work_bytes", T, S))
% end
% end
if (t->rank == 0) { % if scalar.set_count == 1
for (int l = t->rank; l < ${PREFIX}SCORE_SETS; l += t->blocks) { % elseif attends.calls_end_score_by_layer
for (int l = 0; t->rank == 0 && l < ${PREFIX}SCORE_SETS; l++) { % else
    const ${prefix}score_tables tables = ${prefix}find_score_tables(v, ${set_index}); % if scalar.cuda.ending.uses.s
    ${prefix}${scalar.cuda.gradient_set.type} d;
    used = 0;
    ${prefix}${scalar.cuda.gradient_set.lay_out}(&d, sums.${prefix}score${set_offset}, &used, ${attends.T_of_view}, ${attends.S_of_view});
    __syncthreads();
    ${prefix}end_score(v, ${set_index}, &tables, &d, g, v->shared.${prefix}scratch${work_offset}, staging());
}
