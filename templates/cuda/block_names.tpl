/* The parameters of the block's ${name}, and where their gradients go: read again for each operation, as what is kept
 * over a call takes registers from what is called. */
INLINE const ${parameters_type} *${name}_weights(void) { return block()->view.p->${name} + block()->l; }
% local type = cuda.products == "generated" and parameters_type or gradients_type
% if loops > 1 and cuda.products == "generated" then
/* Gradients of a layer's weights, summed over its uses: the last use stores, the others go by way of the workspace. */
INLINE ${type} *${name}_dweights(void) {
    if (block()->use < ${first_use}) return (${type} *)(real *)block()->work.${name}_more;
    return block()->gradient->${name} + block()->l;
}
% else
INLINE ${type} *${name}_dweights(void) { return block()->gradient->${name} + block()->${index}; }
% end
% if mask then
% local first = (mask.first > 0 and mask.first .. " + " or "") .. (mask.places > 1 and mask.places .. " * " or "")

/* The mask of a place within the ${name}, in the order of its operations. */
INLINE const unsigned char *${name}_mask(int place) { return mask_of(${first}block()->${index} + place); }
% end
