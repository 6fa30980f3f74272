/* The parameters of the current ${name}, and the destination of their gradients. Every operation reads these pointers
 * again, because a value that lives across a call takes registers from the called function. */
INLINE const ${parameters_type} *${name}_weights(void) { return block()->view.p->${name} + block()->l; }
INLINE const ${parameters_type} *${name}_rounded(void) { return rounded()->${name} + block()->l; } % if device.rounds
% local type = cuda.products == "generated" and parameters_type or gradients_type
% if loops > 1 and cuda.products == "generated" then
/* The destination of the gradients of a layer's weights, summed over its uses: the last use stores to the gradient, the
 * other uses store to the workspace, from which they are added. */
INLINE ${type} *${name}_dweights(void) {
    if (block()->use < ${last_loop_start}) return (${type} *)(real *)block()->work.${name}_more;
    return block()->gradient->${name} + block()->l;
}
% else
INLINE ${type} *${name}_dweights(void) { return block()->gradient->${name} + block()->${index}; }
% end
% if mask then
% local first = (mask.first > 0 and mask.first .. " + " or "") .. (mask.sites > 1 and mask.sites .. " * " or "")

/* The mask of dropout number `place` of the current ${name}, in the order of operations. */
INLINE const unsigned char *${name}_mask(int place) { return find_mask(${first}block()->${index} + place); }
% end
