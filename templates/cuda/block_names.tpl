/* The parameters of the block's ${name}, and where their gradients go: read again for each operation, as what is kept
 * over a call takes registers from what is called. */
INLINE const ${parameters_type} *${name}_weights(void) { return block()->view.p->${name} + block()->l; }
% local type = cuda.products == "generated" and parameters_type or gradients_type
INLINE ${type} *${name}_dweights(void) { return block()->gradient->${name} + block()->l; }
% if mask then
% local first = (mask.first > 0 and mask.first .. " + " or "") .. (mask.places > 1 and mask.places .. " * " or "")

/* The mask of a place within the ${name}, in the order of its operations. */
INLINE const unsigned char *${name}_mask(int place) {
    const int site = ${first}block()->l + place;
    return block()->work.keep + (size_t)site * block()->sequences * block()->view.T * (WIDTH / 8);
}
% end
