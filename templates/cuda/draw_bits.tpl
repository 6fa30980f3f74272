% local index_in_draw = device.max_dropouts > 1 and "(" .. device.max_dropouts .. " * l + place)" or "l"
/* Samples the masks of a dropout for `uses` repetitions of its layer: `bytes` bytes for each repetition and sequence.
 * layer: the field `layer` of a site (longhand/rng.h) in the first repetition; the field is 1 larger in each further
 * repetition. place: the index of the dropout in the layer. */
% define("INLINE void draw_bits", "masks keep", "int uses", "size_t bytes", "unsigned int layer", "unsigned int place", "unsigned int drop_below", eval_dropout and "const bool training")
    const lh_cuda_step *in = &block()->step;
    const size_t layer_bytes = block()->sequences * bytes; /* bytes of one repetition */
    for (size_t e = threadIdx.x; e < uses * layer_bytes; e += THREADS) {
        const unsigned int l = layer + (unsigned int)(e / layer_bytes);
        const size_t row = e % layer_bytes; /* index of the byte in its repetition, sequence after sequence */
% if eval_dropout then
        const unsigned int site = training ? DROPOUT_DOMAIN << 24 | l << 8 | place
                : EVAL_DROPOUT_DOMAIN << 24 | in->draw << 8 | ${index_in_draw};
% else
        const unsigned int site = DROPOUT_DOMAIN << 24 | l << 8 | place;
% end
        keep[e] = keep_byte(in->key, in->step, ${(eval_dropout or train.mixes_lengths) and "in->first + " or ""}block()->first + (unsigned int)(row / bytes), site,
                (unsigned int)(row % bytes), drop_below);
    }
}

/* The masks of repetition `use` of a layer, for all sequences. */
INLINE const unsigned char *select_bits(masks keep, int use, size_t bytes) {
    return keep + use * block()->sequences * bytes;
}
