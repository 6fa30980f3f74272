% if positions.kind == "randomized" then
int32_t ${prefix}position[${PREFIX}DRAWS][${PREFIX}MAX_POSITION]; /* a sequence uses the first T of a draw */
int32_t ${prefix}key_position[${PREFIX}DRAWS][${PREFIX}MAX_POSITION]; /* a sequence uses the first S of a draw */ % if cross
int32_t ${prefix}scratch[${PREFIX}DRAWS][${PREFIX}MAX_POSITION];
% end
% if positions.distance.draws then
% local size_factor, order_words = "", "a sequence uses the first T of a draw: 0, then ascending distances"
% if positions.distance.independent then
% size_factor, order_words = "2 * ", "signed, with index key - query + MAX_POSITION"
% end
int32_t ${prefix}distance[${PREFIX}DISTANCE_DRAWS][${size_factor}${PREFIX}MAX_POSITION]; /* ${order_words} */
int32_t ${prefix}distance_scratch[${PREFIX}DISTANCE_DRAWS][${PREFIX}MAX_POSITION];
% end
