/* The parameters of the current ${name}, and the address for their gradients. Every operation calls these functions again,
 * because a pointer that is kept across a call takes registers from the called function. */
INLINE const ${parameters_type} *${name}_weights(void) { return block()->view.p->${name} + block()->l; }
INLINE const ${parameters_type} *${name}_rounded(void) { return rounded()->${name} + block()->l; } % if device.rounds
% local type = cuda.products == "generated" and parameters_type or gradients_type
% if loops > 1 and cuda.products == "generated" then
/* The address for the gradients of a layer's parameters in the current repetition. The last repetition writes to the
 * shard's gradient. Each other repetition writes to the workspace, and its result is added to the shard's gradient. */
INLINE ${type} *${name}_dweights(void) {
    if (block()->use < ${last_pass_start}) return (${type} *)(real *)block()->work.${name}_more;
    return block()->gradient->${name} + block()->l;
}
% else
INLINE ${type} *${name}_dweights(void) { return block()->gradient->${name} + block()->${index}; }
% end
% if mask then
% -- first: the C text "A + B * ", which stands before the index of the current repetition. A: the number of masks before
% -- the masks of this block, left out if 0. B: the number of masks of a repetition, left out if 1.
% local first = (mask.first > 0 and mask.first .. " + " or "") .. (mask.sites > 1 and mask.sites .. " * " or "")

/* The mask of the dropout with index `place` of the current ${name}; dropouts are counted in the order of operations. */
INLINE const unsigned char *${name}_mask(int place) { return find_mask(${first}block()->${index} + place); }
% end
