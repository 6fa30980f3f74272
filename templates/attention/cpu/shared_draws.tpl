% if positions.kind == "randomized" then
int32_t ${prefix}position[${PREFIX}DRAWS][${PREFIX}MAX_POSITION]; /* the first T of each draw are used */
int32_t ${prefix}key_position[${PREFIX}DRAWS][${PREFIX}MAX_POSITION]; /* the first S of each draw are used */ % if cross
int32_t ${prefix}scratch[${PREFIX}DRAWS][${PREFIX}MAX_POSITION];
% end
% if positions.distance.draws then
% local twice, order = "", "the first T of each draw are used: 0, then ascending"
% if positions.distance.independent then
% twice, order = "2 * ", "signed, with index key - query + MAX_POSITION"
% end
int32_t ${prefix}distance[${PREFIX}DISTANCE_DRAWS][${twice}${PREFIX}MAX_POSITION]; /* ${order} */
int32_t ${prefix}distance_scratch[${PREFIX}DISTANCE_DRAWS][${PREFIX}MAX_POSITION];
% end
