/* The parameters of the current ${name}, and the address for their gradients. Every operation calls these functions again,
 * because a pointer that is kept across a call takes registers from the called function. */
INLINE const ${parameters_type} *${name}_weights(void) { return block()->view.p->${name} + block()->l; }
INLINE const ${parameters_type} *${name}_rounded(void) { return rounded()->${name} + block()->l; } % if device.rounds
% local type = cuda.products == "generated" and parameters_type or gradients_type
% if loops > 1 and cuda.products == "generated" then
/* The address to which the current repetition of a layer stores the gradients of the layer's parameters. The last
 * repetition stores them to the gradient. The others store them to the workspace; their sum is added to the gradient. */
INLINE ${type} *${name}_dweights(void) {
    if (block()->use < ${last_loop_start}) return (${type} *)(real *)block()->work.${name}_more;
    return block()->gradient->${name} + block()->l;
}
% else
INLINE ${type} *${name}_dweights(void) { return block()->gradient->${name} + block()->${index}; }
% end
% if mask then
% -- first: C text in front of the index of the current repetition: the number of masks that precede the masks of this
% -- block, and as a factor the number of masks of a repetition
% local first = (mask.first > 0 and mask.first .. " + " or "") .. (mask.sites > 1 and mask.sites .. " * " or "")

/* The mask of the dropout with index `place` of the current ${name}; dropouts are counted in the order of operations. */
INLINE const unsigned char *${name}_mask(int place) { return find_mask(${first}block()->${index} + place); }
% end
