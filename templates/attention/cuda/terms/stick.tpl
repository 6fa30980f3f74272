% -- Attention by breaking a stick.
% local nearest = own_key and "i" or "i - 1" -- the index of the first key that takes a piece
% local is_key = own_key and "j <= i" or "j < i"
% section("visit_leftwards")
real attended[${attends.head_part}] = {}, rest = 1; /* what is left of the query's stick */
#pragma unroll ${attends.unroll} % if attends.unroll
for (int j = ${nearest}; j >= 0; j--) {
    const chances c = derive_chances(${prefix}pair_logit(&a, query, j));
    real value[${attends.head_part}];
    ${prefix}load_head(value, a.value + j * ${PREFIX}QUERY_STRIDE);
    ${prefix}add_head(attended, c.match * rest, value);
    rest *= c.miss;
}
% if own_value then
real own[${attends.head_part}];
${prefix}load_head(own, a.value + i * ${PREFIX}QUERY_STRIDE);
${prefix}add_head(attended, rest, own);
% end
${prefix}store_head(attended, 1, out);
% section("backward_functions")

% local return_type, words = own_value and "real" or "void", own_value and " Returns the rest of the stick." or ""
/* Breaks the stick of query i again. Stores the weight of each pair, and in `misses` the share of the rest that the
 * key leaves.${words} */
INLINE ${return_type} ${prefix}break_stick(const ${prefix}head *a, const real query[${attends.head_part}], int i, real *weights,
        real *misses) {
    real rest = 1;
    for (int j = ${nearest}; j >= 0; j--) {
        const chances c = derive_chances(${prefix}pair_logit(a, query, j));
        const size_t place = (size_t)(i - j) * a->T + i;
        weights[place] = c.match * rest;
        misses[place] = c.miss;
        rest *= c.miss;
    }
    return rest; % if own_value
}
% section("store_pairs")
% -- the array `pairs` of the skeleton holds the misses of the pairs
% if own_value then
const real rest = ${prefix}break_stick(&a, query, i, weights, pairs);
real own[${attends.head_part}];
${prefix}load_head(own, a.value + i * ${PREFIX}QUERY_STRIDE);
real drest = ${prefix}dot_head(dout, own); /* gradient of what the next visited key leaves of the stick */
real weight = 0; % if own_key
% else
${prefix}break_stick(&a, query, i, weights, pairs);
real drest = 0; /* gradient of what the next visited key leaves of the stick */
% end
${is_key} % section("is_key")
% section("visit_pair")
% local declaration = own_key and own_value and "" or "const real "
/* With the rest R of the stick and the chance P of a match, key j takes A = R P (`weight`) and leaves R' = R (1 - P),
 * where 1 - P is `miss`. So dP = R (dA - dR') and dR = P dA + (1 - P) dR' (`drest`). */
${declaration}weight = weights[place];
const real miss = pairs[place];
const real gain = ${prefix}dot_head(dout, value) - drest;
const real dlogit = weight * (miss * gain);
drest += (1 - miss) * gain;
% section("end_pairs") % if own_value
weights[i] = ${own_key and "weight + rest" or "rest"};
pairs[i] = 0; % if not own_key
j${own_key and "" or " + 1"} % section("nearest_query") % if not own_value
