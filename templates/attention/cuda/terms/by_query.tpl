% section("count")
v->${attends.T}
% section("place")
const int i = task % count;
% section("each_pair")
for (int j = 0; j < v->${attends.S}; j++) {
