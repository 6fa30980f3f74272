% local pair_logit, of_pair = prefix .. "pair_logit", { a = "a.", h = "h", j = "j", keys = "a." .. attends.keys }
% local dot_head = prefix .. "dot_head(dout, value)"
const real logit = ${pair_logit}(&a, query, key, i, j);
const real weight = exp_negative(${inline("score", "logit", of_pair)} - largest) * inverse;
% slot("keep")
const real ${attends.dscore} = weight * (${inline("gradient_of_weight", dot_head)} - delta);
% slot("gradient_of_logit")
