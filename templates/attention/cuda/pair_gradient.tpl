% -- A pair's weight, dscore and dlogit; delta: the weighted mean of the gradients of weights.
% local dot_head = prefix .. "dot_head(dout, value)"
const real logit = ${prefix}pair_logit(&a, query, key, i, j);
% slot("pair_sums", { row = row })
const real weight = exp_negative(${inline("score", "logit")} - largest) * inverse;
% slot("keep")
const real ${attends.dscore} = weight * (${inline("gradient_of_weight", dot_head)} - delta);
% slot("gradient_of_logit")
