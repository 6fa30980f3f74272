% -- For sum_pairs.tpl: an entry for each key.
v->${attends.S} % section("count")
const int j = task % count; % section("place")
for (int i = 0; i < v->${attends.T}; i++) { % section("each_pair")
