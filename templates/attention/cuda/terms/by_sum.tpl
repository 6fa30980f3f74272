% local T, S = "v->" .. attends.T, "v->" .. attends.S
% section("count")
% if cross then
${T} + ${S} - 1
% else
2 * ${T} - 1
% end
% section("place")
const int t = task % count, first = t < ${S} ? 0 : t - ${S} + 1, end = t < ${T} ? t + 1 : ${T};
% section("each_pair")
for (int i = first; i < end; i++) {
    const int j = t - i;
