% -- For sum_pairs.tpl: an entry for each difference query - key.
v->${attends.T} + v->${attends.S} - 1 % section("count")
% section("place")
const int o = task % count - (v->${attends.S} - 1), first = o > 0 ? o : 0,
        end = v->${attends.S} + o < v->${attends.T} ? v->${attends.S} + o : v->${attends.T};
% section("each_pair")
for (int i = first; i < end; i++) {
    const int j = i - o;
