% section("count")
% if cross then
v->${attends.T} + v->${attends.S} - 1
% else
2 * v->${attends.T} - 1
% end
% section("place")
% if cross then
const int o = task % count - (v->${attends.S} - 1), first = o > 0 ? o : 0,
        end = v->${attends.S} + o < v->${attends.T} ? v->${attends.S} + o : v->${attends.T};
% else
const int o = task % count - (v->${attends.T} - 1), first = o > 0 ? o : 0,
        end = o < 0 ? v->${attends.T} + o : v->${attends.T};
% end
% section("each_pair")
for (int i = first; i < end; i++) {
    const int j = i - o;
