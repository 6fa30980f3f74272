% if positions.first == 1 then
${PREFIX}FIRST_POSITION = 1,
${PREFIX}MAX_POSITION = ${positions.bound}, /* positions are sampled from ${PREFIX}FIRST_POSITION .. ${PREFIX}MAX_POSITION - 1 */
% elseif positions.range then
${PREFIX}MAX_POSITION = ${positions.bound}, /* positions are sampled from 0 .. ${PREFIX}MAX_POSITION - 1 */
% elseif positions.distance.draws then
${PREFIX}MAX_POSITION = ${positions.distance.bound},
% end
${PREFIX}DRAWS = ${positions.draws}, /* number of independent samples of positions in one pass */ % if positions.kind == "randomized"
% if positions.distance.draws then
${PREFIX}DISTANCE_DRAWS = ${positions.distance.draws}, /* number of samples of distances in one pass; distances are sampled from 1 .. ${PREFIX}MAX_POSITION - 1 */
% end
${PREFIX}SCORE_SETS = ${score.set_count}, /* number of sets of tables that the score reads, one set for each layer */ % if score.per_layer
${PREFIX}${requested_value.constant} = ${requested_value.width}, /* ${requested_value.description}, rounded up to a whole vector */ % if requested_value
${PREFIX}CLIP = ${relative.clip}, /* keys at larger distances share the vector of this distance */ % if relative.kind == "shaw"
