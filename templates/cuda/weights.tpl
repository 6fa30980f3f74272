/* Computes the block's tiles of the gradient of a weight: the tiles `tile`, tile + n, tile + 2 n, ..., where n is the
 * team's number of blocks. Returns the index of the block's first tile in the next gradient. */
INLINE int add_up_tiles(const weights_gradient weights, int tile) {
    block_state *b = block();
    const int tiles = weight_tiles(weights.inner, weights.columns);
    if (tile < tiles) {
        __syncthreads();
        if (threadIdx.x == 0) b->weights = weights;
        __syncthreads();
        for (; tile < tiles; tile += b->members.blocks) add_up_tile(&b->weights, tile);
    }
    return tile - tiles;
}

/* Computes the gradients of products' weights and biases, over all tokens of the batch, into the gradient of the
 * step. */
INLINE void add_up_products(void) {
    block_state *b = block();
    parameters *g = (parameters *)b->replica.gradient;
    const int shards = b->train.shards, sequences = b->step.sequences;
    int tile = b->members.rank;
    __syncthreads();
    if (threadIdx.x == 0) find_operands(b, b->replica.partials);
    __syncthreads();
% for _, product in ipairs(device.operands.list) do
% local indent = product.count and "    " or ""
% -- the braces hold the members of a weights_gradient (kernels/cuda/product_weights.cu)
    for (int l = 0; l < ${product.count}; l++) { % if product.count
    ${indent}tile = add_up_tiles({${product.inner}, ${product.columns}, ${product.loops}, shards, sequences / shards * b->view.${product.T}, sequences % shards, b->view.${product.T}, ${product.pass_rows}, b->train.partial_stride, b->held.${product.name}_x + ${product.first_row} * ${product.inner}, b->held.${product.name}_dy + ${product.first_row} * ${product.columns}, ${product.dweight}, ${product.dbias}}, tile);
    } % if product.count
% end
}

/* Whether first + e points into the array of `size` elements that begins at `from`. */
INLINE bool is_in(int e, const real *first, const real *from, const int size) {
    return (unsigned int)(e - (int)(from - first)) < (unsigned int)size;
}

/* Whether element e of the gradient belongs to weights or biases of products, which add_up_products writes. */
INLINE bool is_product_weight(int e) {
    const parameters *g = (const parameters *)block()->replica.gradient;
    bool found = false;
% -- a range: successive members of a struct of parameters
% for _, part in ipairs(device.operands.members) do
% if part.block then
    const real *${part.block}s = (const real *)g->${part.block};
    const int ${part.block}_size = sizeof(${part.parameters_type}) / sizeof(real);
    if (is_in(e, (const real *)g, ${part.block}s, ${part.count} * ${part.block}_size)) {
        const int offset_in_${part.block} = (int)((unsigned int)(e - (int)(${part.block}s - (const real *)g)) % ${part.block}_size);
% for _, range in ipairs(part.ranges) do
        if (is_in(offset_in_${part.block}, ${part.block}s, g->${part.block}->${range.first}, ${range.size})) found = true;
% end
    }
% else
% for _, range in ipairs(part.ranges) do
    if (is_in(e, (const real *)g, g->${range.first}, ${range.size})) found = true;
% end
% end
% end
    return found;
}
