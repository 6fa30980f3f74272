% -- For sum_pairs.tpl: an entry for each query.
v->${attends.T} % section("count")
const int i = task % count; % section("place")
for (int j = 0; j < v->${attends.S}; j++) { % section("each_pair")
