% if uses.p then
const parameters *p = v->p;
% end
% if uses.position then
% local positions_of = prefix .. "positions_of"
const int *position = ${invoke(positions_of, "v", "l")};
% end
% if uses.key_position then
% local key_positions_of = prefix .. "key_positions_of"
const int *key_position = ${invoke(key_positions_of, "v", "l")};
% end
% if uses.drawn then
% local distances_of = prefix .. "distances_of"
const int *drawn = ${invoke(distances_of, "v", "l")};
% end
% if uses.T then
const int T = v->${attends.T};
% end
% if uses.S then
const int S = v->${attends.S};
% end
