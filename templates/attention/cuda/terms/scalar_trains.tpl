% local c, T, S = scalar.cuda, "block()->view." .. attends.T, "block()->view." .. attends.S
% local sets = scalar.sets > 1 and PREFIX .. "SCORE_SETS * " or ""
% local sets_about = scalar.sets > 1 and PREFIX .. "SCORE_SETS sets of" or "a set of"
% section("behind_keys")
% local bytes, of_layer = prefix .. "score_gradient_bytes", ""
% if scalar.per_layer then
% of_layer = " + (size_t)block()->l * " .. invoke(bytes, T, S)
% end

/* Sets the addresses of the gradients of the layer's tables. */
INLINE void ${prefix}score_gradients_of(${prefix}score_gradients *d) {
    size_t used = 0;
    ${prefix}lay_out_score_gradients(d, block()->sums.${prefix}score${of_layer}, &used, block()->view.${attends.T},
            block()->view.${attends.S});
}
% section("shared_tables")
reals ${prefix}scratch; /* workspace of end_score */ % if c.work[1]
% section("lay_out_tables")
% if c.work[1] then
% local of_each = attends.end_by_layer and sets or ""
t->${prefix}scratch = take_reals(memory, &used, ${of_each}${prefix}score_work_bytes(${attends.T}, ${attends.S}) / sizeof(real));
% end
% section("table_sums")
char *${prefix}score; /* ${sets_about} score_gradients */
% section("lay_out_sums")
sums->${prefix}score = memory ? memory + *used : NULL;
*used += ${sets}${prefix}score_gradient_bytes(${attends.T}, ${attends.S});
% section("end_tables")
% local bytes, scratch, room = prefix .. "score_gradient_bytes", prefix .. "score_work_bytes", "v->shared." .. prefix .. "scratch"
% local sums, set = "sums." .. prefix .. "score", scalar.sets > 1 and "l" or "0"
% if scalar.sets > 1 then
% sums = sums .. " + (size_t)l * " .. invoke(bytes, attends.T_of_view, attends.S_of_view)
% end
% if scalar.sets == 1 then
if (t->rank == 0) {
% elseif attends.end_by_layer then
% room = c.work[1] and room .. " + (size_t)l * " .. invoke(scratch, attends.T_of_view, attends.S_of_view) .. " / sizeof(real)"
for (int l = t->rank; l < ${PREFIX}SCORE_SETS; l += t->blocks) {
% else
for (int l = 0; t->rank == 0 && l < ${PREFIX}SCORE_SETS; l++) {
% end
    ${prefix}score_tables tables; % if c.finish.uses.s
    ${prefix}score_gradients d;
    ${prefix}score_tables_of(v, ${set}, &tables); % if c.finish.uses.s
    used = 0;
    ${prefix}lay_out_score_gradients(&d, ${sums}, &used, ${attends.T_of_view}, ${attends.S_of_view});
    __syncthreads();
    ${prefix}end_score(v, ${set}, &tables, &d, g, ${room or "0"}, staging());
}
