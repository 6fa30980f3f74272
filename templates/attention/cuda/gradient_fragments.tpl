% if terms.scaled then
const real logit = logits[e / 4][e % 4];
const real score = LOG2E * (${inline("score", "logit")});
% else
const real score = logits[e / 4][e % 4];
% end
% if terms.spans then
const real of_pair = weight_of(score${terms.scaled and " - log_sum[of]" or ""});
const real weight = ${inline("exists", "")} ? of_pair : 0;
% else
const real weight = weight_of(score${terms.scaled and " - log_sum[of]" or ""});
% end
% slot("keep")
% if terms.drops then
const real ${attends.dscore} = weight * (${inline("gradient_of_weight", "dweights[e / 4][e % 4]")} - delta[of]);
% else
const real ${attends.dscore} = weight * dweights[e / 4][e % 4];
% end
% slot("gradient_of_logit", { dlogit = true })
