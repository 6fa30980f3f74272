% section("count")
v->${attends.T} * v->${attends.S}
% section("place")
const int j = task % count / v->${attends.T}, i = task % count % v->${attends.T};
% section("each_pair")
{
