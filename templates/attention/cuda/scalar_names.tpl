% if uses.p then
const parameters *p = v->p;
% end
% if uses.position then
const int *position = ${prefix}positions_of(v, l);
% end
% if uses.key_position then
const int *key_position = ${prefix}key_positions_of(v, l);
% end
% if uses.drawn then
const int *drawn = ${prefix}distances_of(v, l);
% end
% if uses.T then
const int T = v->${attends.T};
% end
% if uses.S then
const int S = v->${attends.S};
% end
