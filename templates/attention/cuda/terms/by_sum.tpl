% -- For sum_pairs.tpl: an entry for each sum query + key.
v->${attends.T} + v->${attends.S} - 1 % section("count")
% section("place")
const int t = task % count, first = t < v->${attends.S} ? 0 : t - v->${attends.S} + 1,
        end = t < v->${attends.T} ? t + 1 : v->${attends.T};
% section("each_pair")
for (int i = first; i < end; i++) {
    const int j = t - i;
