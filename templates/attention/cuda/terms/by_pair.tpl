% -- For sum_pairs.tpl: an entry for each pair of a query and a key.
v->${attends.T} * v->${attends.S} % section("count")
const int j = task % count / v->${attends.T}, i = task % count % v->${attends.T}; % section("place")
{ % section("each_pair")
