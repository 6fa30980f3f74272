/* The gradients of products' weights and biases, over all tokens of the batch, to those of the step. A block of the team
 * has every so many tiles of them. */
INLINE void add_up_products(void) {
    block_state *b = block();
    const team *t = &b->members;
    parameters *g = (parameters *)b->replica.gradient;
    const int shards = b->train.shards, sequences = b->step.sequences;
    int tile = t->rank;
    __syncthreads();
    if (threadIdx.x == 0) find_operands(b, b->replica.partials);
% for _, one in ipairs(device.operands.list) do
% if one.count then
    for (int l = 0; l < ${one.count}; l++) {
% else
    {
% end
        const int tiles = weight_tiles(${one.inner}, ${one.columns});
        if (tile < tiles) {
            __syncthreads();
            if (threadIdx.x == 0) {
                const weights_gradient weights = {${one.inner}, ${one.columns}, ${one.loops}, shards,
                        sequences / shards * b->view.${one.T}, sequences % shards, b->view.${one.T}, ${one.between},
                        b->train.partial_stride,
                        b->held.${one.name}_x + ${one.before} * ${one.inner},
                        b->held.${one.name}_dy + ${one.before} * ${one.columns}, ${one.dweight}, ${one.dbias}};
                b->weights = weights;
            }
            __syncthreads();
            for (; tile < tiles; tile += t->blocks) add_up_tile(&b->weights, tile);
        }
        tile -= tiles;
    }
% end
}

/* Whether element e from `first` on is of a member. */
INLINE bool is_in(int e, const real *first, const real *member, const int size) {
    const int from = (int)(member - first);
    return e >= from && e < from + size;
}

/* Whether element e of a gradient is of what add_up_products writes; shards have no part of it. */
INLINE bool is_of_products(int e) {
    const parameters *g = (const parameters *)block()->replica.gradient;
    bool found = false;
% for _, part in ipairs(device.operands.members) do
% if part.block then
    const real *${part.block}s = (const real *)g->${part.block};
    const int of_${part.block} = sizeof(${part.parameters_type}) / sizeof(real);
    if (is_in(e, (const real *)g, ${part.block}s, ${part.count} * of_${part.block})) {
        int in_${part.block} = e - (int)(${part.block}s - (const real *)g);
        for (int l = 1; l < ${part.count}; l++)
            if (in_${part.block} >= of_${part.block}) in_${part.block} -= of_${part.block};
% for _, m in ipairs(part.members) do
        if (is_in(in_${part.block}, ${part.block}s, g->${part.block}->${m.name}, ${m.size})) found = true;
% end
    }
% else
% for _, m in ipairs(part.members) do
    if (is_in(e, (const real *)g, g->${m.name}, ${m.size})) found = true;
% end
% end
% end
    return found;
}

