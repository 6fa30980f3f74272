% if positions.kind == "randomized" then
int32_t ${prefix}position[${PREFIX}DRAWS][${PREFIX}MAX_POSITION]; /* a sequence uses the first T of a draw */
int32_t ${prefix}key_position[${PREFIX}DRAWS][${PREFIX}MAX_POSITION]; /* a sequence uses the first S of a draw */ % if cross
int32_t ${prefix}scratch[${PREFIX}DRAWS][${PREFIX}MAX_POSITION];
% end
% if positions.distance.draws then
% local twice, order = "", "a sequence uses the first T of a draw: 0, then ascending distances"
% if positions.distance.independent then
% twice, order = "2 * ", "signed, with index key - query + MAX_POSITION"
% end
int32_t ${prefix}distance[${PREFIX}DISTANCE_DRAWS][${twice}${PREFIX}MAX_POSITION]; /* ${order} */
int32_t ${prefix}distance_scratch[${PREFIX}DISTANCE_DRAWS][${PREFIX}MAX_POSITION];
% end
