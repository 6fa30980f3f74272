% -- Terms of a query's logits for all keys to its right and to its left, computed from the layer's input.
% section("work")
enum { ${PREFIX}QUERY_SUMS = 3 }; /* sums that each query stores: the gradients of scale, offset and direction_scale */

% section("members")
const real *direction; /* token 0's terms for keys to its right and left; tokens are ${PREFIX}DIRECTION_WIDTH apart */
real right_bias, left_bias; /* learned biases of these terms */
% section("set_members")
a.direction = s->${attends.contribution} + (size_t)sequence * v->${attends.T} * ${PREFIX}DIRECTION_WIDTH + 2 * h;
a.right_bias = v->p->${attends.block}[l].${attends.contribution_bias}[2 * h];
a.left_bias = v->p->${attends.block}[l].${attends.contribution_bias}[2 * h + 1];
real right, left; /* terms added to the logits of keys on each side */ % section("prepared_query")
% section("load_prepared_query")
const real *direction = a->direction + i * ${PREFIX}DIRECTION_WIDTH;
q->right = (direction[0] + a->right_bias) * a->numbers.direction_scale + a->numbers.offset;
q->left = (direction[1] + a->left_bias) * a->numbers.direction_scale + a->numbers.offset;
(j > i ? q->right : q->left) % section("offset")
% section("end_return")
const real *direction = a.direction + i * ${PREFIX}DIRECTION_WIDTH;
real *ddirection = w->${attends.dcontribution} + row * ${PREFIX}DIRECTION_WIDTH + 2 * h;
${attends.if_first_lane}w->${prefix}query_sums[2 * queries + task] =
        m.dright * (direction[0] + a.right_bias) + m.dleft * (direction[1] + a.left_bias);
${attends.if_first_lane}ddirection[0] = m.dright * a.numbers.direction_scale;
${attends.if_first_lane}ddirection[1] = m.dleft * a.numbers.direction_scale;
% section("number_grads")
column_sums(rows, ${PREFIX}DIRECTION_WIDTH, ${PREFIX}DIRECTION_WIDTH, w->${attends.dcontribution}, g->${attends.contribution_bias});
, values and directions % section("other_gradients")
% section("begin_backward") % if has_unused_columns
for (int e = threadIdx.x; e < block()->sequences * block()->view.${attends.T} * ${PREFIX}DIRECTION_WIDTH; e += THREADS)
    if (e % ${PREFIX}DIRECTION_WIDTH >= 2 * ${PREFIX}HEADS) block()->work.${attends.dcontribution}[e] = 0;
