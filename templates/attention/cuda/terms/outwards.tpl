% -- The parameters of geometric attention.
% section("members")
const real *content_bias; /* [${PREFIX}HEAD_WIDTH] */
geometric_numbers numbers;
% section("set_members")
a.content_bias = v->p->${attends.block}[l].${prefix}content_bias + h * ${PREFIX}HEAD_WIDTH${attends.channel};
a.numbers = v->p->${attends.block}[l].${prefix}geometric;
${prefix}add_number_gradients(g); % section("end_walks")
