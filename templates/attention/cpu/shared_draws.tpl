% if positions.kind == "randomized" then
int32_t ${prefix}position[${PREFIX}DRAWS][${PREFIX}MAX_POSITION]; /* the first T of each draw are in use */
% if cross then
int32_t ${prefix}key_position[${PREFIX}DRAWS][${PREFIX}MAX_POSITION]; /* the first S */
% end
int32_t ${prefix}scratch[${PREFIX}DRAWS][${PREFIX}MAX_POSITION];
% end
% if positions.distance.draws then
% if positions.distance.independent then
int32_t ${prefix}distance[${PREFIX}DISTANCE_DRAWS][2 * ${PREFIX}MAX_POSITION]; /* signed, by key - query + MAX_POSITION */
% else
int32_t ${prefix}distance[${PREFIX}DISTANCE_DRAWS][${PREFIX}MAX_POSITION]; /* the first T of each draw are in use; 0, then ascending */
% end
int32_t ${prefix}distance_scratch[${PREFIX}DISTANCE_DRAWS][${PREFIX}MAX_POSITION];
% end
