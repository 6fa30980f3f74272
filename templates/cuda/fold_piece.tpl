% -- Sums the gradients of the shards for one piece of the parameter vector.
% if cuda.by_team then
for (int i = 0; i < PIECE_PART; i += 4) {
    const int e = piece * PIECE + piece_element(i);
    if (is_product_weight(e)) continue; /* add_up_products writes these elements */
    fold(b->train.shards, b->replica.partials + e * sizeof(real), b->train.partial_stride, 0, 1, 4, gradient + e);
}
% else
fold(b->train.shards, b->replica.partials + piece * PIECE * sizeof(real), b->train.partial_stride, threadIdx.x,
        THREADS, PIECE, gradient + piece * PIECE);
% end
