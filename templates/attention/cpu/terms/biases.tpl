% -- Two learned biases of queries: for products with keys (content), and with vectors of distances (position).
% section("members")
const real *content_bias, *position_bias; /* [HEAD_WIDTH] */
real *dbiases; /* [content, position][HEAD_WIDTH][LANES] */
% section("head")
const ${stack.parameters} *p = &((const parameters *)w->step->parameters)->${stack.member}[l];
head.content_bias = p->${prefix}content_bias + h * ${PREFIX}HEAD_WIDTH;
head.position_bias = p->${prefix}position_bias + h * ${PREFIX}HEAD_WIDTH;
head->dbiases = w->sums.${name}.biases[l] + h * 2 * ${PREFIX}HEAD_WIDTH * LANES; % section("head_grad")
% section("biases_back")
UNROLL
for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) {
    add_at(head->dbiases + d * LANES, dq[d] * factor);
    add_at(head->dbiases + (${PREFIX}HEAD_WIDTH + d) * LANES, dposition[d] * factor);
    dq[d] += dposition[d];
}
% section("sums")
real *biases[${stack.count}]; /* [HEADS][content, position][HEAD_WIDTH][LANES] gradients of the biases by lane */
% section("lay_out_sums")
for (int l = 0; l < ${stack.count}; l++) sums->biases[l] = reserve(memory, used, 2 * WIDTH * LANES * sizeof(real));
% section("end_biases")
for (int c = 0; c < WIDTH; c++) {
    int of_head = c / ${PREFIX}HEAD_WIDTH * 2 * ${PREFIX}HEAD_WIDTH; /* index of the head's first bias */
    const real *sum = sums->biases[l] + (of_head + c % ${PREFIX}HEAD_WIDTH) * LANES;
    g->${prefix}content_bias[c] += sum_lanes(load(sum));
    g->${prefix}position_bias[c] += sum_lanes(load(sum + ${PREFIX}HEAD_WIDTH * LANES));
}
