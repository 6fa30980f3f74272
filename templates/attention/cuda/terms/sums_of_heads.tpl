% -- Sums of gradients of tables with one number per head, over all queries. The backward pass begins with the last
% -- layer. If layers share the tables (not per_layer), the last layer stores its sums and the other layers add to them.
real gathered[${scalar.cuda.uniform_count}] = {0}; % section("start_query")
% section("gather_by_query")
${prefix}score_grad_uniform(a.score, a.running, a.T, a.S, a.h, i, j, sums, dsums, logit, ${attends.dscore}, gathered);
% section("finish_query")
${attends.if_first_lane}for (int k = 0; k < ${scalar.cuda.uniform_count}; k++)
    w->${prefix}head_sums[k * sequences * ${PREFIX}HEADS * v->${attends.T} + task] = gathered[k];
% section("after_sum_passes")

/* Sums the gradients of tables with one number per head over the queries of a shard, one warp per head, in a fixed
 * order. */
INLINE void ${prefix}attend_heads(void) {
    const workspace *w = &block()->work;
    const int T = block()->view.${attends.T}, sequences = block()->sequences;
    const int l = block()->l; % if not scalar.per_layer
    const ${prefix}${scalar.cuda.gradient_set.type} gathered = ${prefix}find_score_gradients(), *d = &gathered;
    const int lane = threadIdx.x % WARP;
    for (int h = threadIdx.x / WARP; h < ${PREFIX}HEADS; h += WARPS) {
        real sum;
% for _, t in ipairs(scalar.cuda.gathered_by_class.uniform) do -- t.target: C text, an element of a table of d
        sum = 0;
        for (int e = lane; e < sequences * T; e += WARP)
            sum += w->${prefix}head_sums[((${t.index} * sequences + e / T) * ${PREFIX}HEADS + h) * T + e % T];
        sum = warp_sum(sum);
        if (lane == 0) ${t.target} = sum; % if scalar.per_layer
        if (lane == 0) ${t.target} = l == ${stack.count} - 1 ? sum : ${t.target} + sum; % else
% end
    }
    __syncthreads();
}
${prefix}attend_heads(); % section("end_backward")
