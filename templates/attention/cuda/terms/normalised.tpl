% -- Division of the weights of geometric attention by their sum.
% section("constants")
#define ${PREFIX}LEAST_TOTAL ((real)1e-12) /* least divisor of the weights */

real total; /* sum of the weights */ % section("walk")
m->total += weight; % section("add_weight")
, and stores the inverse sums of weights for the backward pass % section("stored_words")
% section("end_walk")
const real inverse = 1 / (m.total > ${PREFIX}LEAST_TOTAL ? m.total : ${PREFIX}LEAST_TOTAL);
${prefix}store_head(m.out, inverse, out);
${attends.if_first_lane}s->${prefix}inverse_total[task] = inverse;
% -- return_walk, begin_return: the backward pass, which walks back towards the query
real mean, inverse; /* mean: weighted mean of the weights' gradients; inverse: 1 / divisor of the weights */ % section("return_walk")
 - m->mean % section("mean")
 * m->inverse % section("inverse_of_query")
% section("begin_return")
real out[${attends.head_part}];
${prefix}load_head(out, s->${attends.out} + offset_of_row);
m.inverse = s->${prefix}inverse_total[task];
m.mean = ${prefix}dot_head(m.dout, out);
if (m.inverse >= 1 / ${PREFIX}LEAST_TOTAL) m.mean = 0; /* the divisor is constant */
 * s->${prefix}inverse_total[task - j + i] % section("inverse_of_pair")
