% -- dscore and dlogit of a pair of a query and a key, from element e of a tile of logits and of dweights.
% local weight_name = terms.has_spans and "pair_weight" or "weight"
% local plus_start = terms.maps_logits and " + start_logit[lane_query]" or ""
% local dweight = "dweights[e / 4][e % 4]"
% dweight = terms.drops_weights and ("(%s + start_dweight[lane_query])"):format(inline("gradient_of_weight", dweight)) or dweight
const real logit = logits[e / 4][e % 4]; % if terms.maps_logits
const real score = LOG2E * (${inline("score", "logit")}); % if terms.maps_logits
const real score = logits[e / 4][e % 4]; % else
const real ${weight_name} = exp2_weight(score${plus_start});
const real weight = ${inline("exists", "")} ? pair_weight : 0; % if terms.has_spans
% slot("keep")
const real ${attends.dscore} = weight * ${dweight};
% slot("gradient_of_logit", { reads_dlogit = true })
