% section("members")
const real *gate; /* of key 0; keys ${PREFIX}GATE_WIDTH apart */
% section("set_members")
a.gate = s->${attends.contribution} + (size_t)sequence * v->${attends.T} * ${PREFIX}GATE_WIDTH + h;
% section("score")
${inner} - abs((${j}) - i) * ${a}gate[(${j}) * ${PREFIX}GATE_WIDTH]
% section("sums_of_key")
, dgate = 0
% section("add_to_key")
dgate -= abs(j - i) * ${attends.dscore};
% section("end_key_gradient")
real *to_gate = w->${attends.dcontribution} + (size_t)(sequence * v->${attends.T} + j) * ${PREFIX}GATE_WIDTH;
${attends.if_first_lane}to_gate[h] = dgate;
for (int c = ${PREFIX}HEADS + h; c < ${PREFIX}GATE_WIDTH; c += ${PREFIX}HEADS) to_gate[c] = 0; /* of no head */
