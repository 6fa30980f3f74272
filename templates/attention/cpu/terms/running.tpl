% -- Values of tokens that formulas of scores read, and running sums of such values.
% section("members")
const ${name}_running *running; /* running sums of the sequence's tokens */
const ${name}_running *drunning; /* their gradients */ % section("last_members")
% section("head")
head.running = &w->${name}.running;
head.drunning = &w->${name}.drunning;
% section("scratch")
${name}_running running, drunning; /* of one sequence; drunning: gradients, in training */
% section("lay_out_scratch")
scratch->running = place_${name}_running(T, reserve(memory, used, count_${name}_running(T) * sizeof(real)));
% section("lay_out_training")
scratch->drunning = place_${name}_running(T, reserve(memory, used, count_${name}_running(T) * sizeof(real)));
scratch->drunning.lanes = reserve(memory, used, count_${name}_running(T) * LANES * sizeof(real));
% section("cached_sums")
if (sums) {
    w->${name}.running = place_${name}_running(T, sums);
    sums += count_${name}_running(T);
}
make_${name}_running(w->step, l, &w->${name}.running, ${from_token}, ${to_token}, ${request_name}, ${query_pointer}); % section("sequence")
% section("sequence_back")
memset(w->${name}.drunning.sums, 0, count_${name}_running(T) * sizeof(real));
memset(w->${name}.drunning.lanes, 0, count_${name}_running(T) * LANES * sizeof(real));
% section("group_back") % if not scalar.has_trained_tables
vector inverse_in_range = keep_where(lanes_before(T - first), inverse);
% section("clear") % if has_unused_columns
/* unused columns stay zero */
memset(d${request_name}, 0, (size_t)(w->sequences * T) * ${PREFIX}${requested_value.constant} * sizeof(real));
% section("advance") % if requested_value
${request_name} += ${is_decoded and "count" or "T"} * ${PREFIX}${requested_value.constant};
% section("sequence_end") % if products[1]
end_${name}_running(w->step, l, &w->${name}.drunning, T, ${request_name}, d${request_name}, ${query_pointer}, d${query_pointer}, w->sums.${name}.vectors[l]);
% section("advance_back") % if requested_value
% if not products[1] then
end_${name}_running(w->step, l, &w->${name}.drunning, T, ${request_name}, d${request_name}, NULL, NULL, NULL);
% end
${request_name} += T * ${PREFIX}${requested_value.constant};
d${request_name} += T * ${PREFIX}${requested_value.constant};
% section("sums") % if products[1]
real *vectors[${stack.count}]; /* [${product_count}][WIDTH] gradients of the vectors that are multiplied with rows of queries and keys */
% section("lay_out_sums") % if products[1]
for (int l = 0; l < ${stack.count}; l++) sums->vectors[l] = reserve(memory, used, ${product_count} * WIDTH * sizeof(real));
% section("end_sums") % if products[1]
for (int l = 0; l < ${stack.count}; l++) {
    ${stack.parameters} *dp = &g->${stack.member}[l];
    const ${stack.parameters} *p = &((const parameters *)step->parameters)->${stack.member}[l]; % if has_units
% for _, value in ipairs(products) do
% local member = prefix .. "score_" .. value.parameter.name
    divide_by_norms_grad(${PREFIX}HEADS, ${PREFIX}HEAD_WIDTH, p->${member}, sums->vectors[l]${value.vector_offset}, dp->${member}); % if value.unit
    for (int c = 0; c < WIDTH; c++) dp->${member}[c] += sums->vectors[l][c${value.vector_offset}]; % if not value.unit
% end
}
