% -- Sums over the keys of a query, which formulas of scores read.
% local sums, has_head_lanes = scalar.cuda.row_sums, attends.head_lanes > 1
% local count = sums.count
% section("before_forward") % if not decodes

/* Adds the pair's terms to `sums`, the query's sums over keys. Returns the logit. */
INLINE real ${prefix}add_terms(const ${prefix}head *a, int i, int j, real logit, real *sums) {
    sums[${sum.number}] += ${prefix}score_${sum.name}(a->score, a->running, a->T, a->T, a->h, i, j, logit); % for _, sum in ipairs(sums)
    return logit;
}
${prefix}add_terms(${head}, i, ${j}, ${inner}, sums) % section("visited_logit")
% section("visit_leftwards")
real sums[${count}] = {0}; /* over the keys so far */
${prefix}softmax m = {(real)-1e30, 0, {}};
for (int j = i; j >= 0; j--) ${prefix}add_keys(1, &a, query, i, j, sums, &m);
${prefix}store_head(m.out, 1 / m.sum, out);
${attends.if_first_lane}s->${prefix}largest[task] = m.largest; % if not decodes
${attends.if_first_lane}s->${prefix}inverse_sum[task] = 1 / m.sum; % if not decodes
, and stores the values of the softmax that the backward pass needs % section("stored_words")
% section("start_query")
real nearer_sums[${count}] = {0};
real dsums[${count}] = {0}; /* gradients of the sums, added from key 0 on */ % if sums.has_gradients
for (int j = i; j >= 0; j--) {
    real key[${attends.head_part}], *to = w->${prefix}row_sums + ((size_t)task * v->${attends.T} + j)${sums.stride};
    ${prefix}load_head(key, a.key + j * ${attends.key_stride});
    ${prefix}add_terms(&a, i, j, ${prefix}pair_logit(&a, query, key, i, j), nearer_sums);
    ${attends.if_first_lane}to[${sum.number}] = nearer_sums[${sum.number}]; % for _, sum in ipairs(sums)
}
__syncwarp(${prefix}head_lanes()); % if has_head_lanes
% section("pair_sums")
const size_t place = ((size_t)${row} * v->${attends.T} + j)${sums.stride};
const real *sums = w->${prefix}row_sums + place;
const real *dsums = w->${prefix}drow_sums + place; % if sums.has_gradients and row ~= "task"
% section("gradient_of_logit") % if sums.has_gradients and row == "task"
${prefix}score_grad_sums(a.score, a.running, a.T, a.S, a.h, i, j, sums, logit, ${attends.dscore}, dsums);
${attends.if_first_lane}w->${prefix}drow_sums[place${sum.offset}] = dsums[${sum.number}]; % for _, sum in ipairs(sums)
