const real logit = ${logit};
% if score_of ~= "logit" then
const real weight = exp_negative(${score_of} - largest) * inverse;
% else
const real weight = exp_negative(logit - largest) * inverse;
% end
% if drops then
const real keep = ${prefix}kept_weight(&a, i, j);
% end
% if logit_grad then
const real dscore = weight * (${drops and "keep * " or ""}${prefix}dot_head(dout, value) - delta);
% if not scores_alone then
const real dlogit = ${prefix}score_logit_grad(${of_head}, i, j, logit, dscore);
% end
% else
const real dlogit = weight * (${drops and "keep * " or ""}${prefix}dot_head(dout, value) - delta);
% end
