% local T, S = "v->" .. attends.T, "v->" .. attends.S
% section("count")
% if cross then
${T} + ${S} - 1
% else
2 * ${T} - 1
% end
% section("place")
% if cross then
const int o = task % count - (${S} - 1), first = o > 0 ? o : 0, end = ${S} + o < ${T} ? ${S} + o : ${T};
% else
const int o = task % count - (${T} - 1), first = o > 0 ? o : 0, end = o < 0 ? ${T} + o : ${T};
% end
% section("each_pair")
for (int i = first; i < end; i++) {
    const int j = i - o;
