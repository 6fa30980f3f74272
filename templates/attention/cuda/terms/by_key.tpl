% section("count")
v->${attends.S}
% section("place")
const int j = task % count;
% section("each_pair")
for (int i = 0; i < v->${attends.T}; i++) {
