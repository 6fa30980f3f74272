% if relative.kind ~= "none" then
% local shape = relative.biases and "distances][WIDTH" or ("%sHEADS][distances][%sHEAD_WIDTH"):format(PREFIX, PREFIX)
reals ${prefix}rows; /* [${stack.count}][${shape}] of the vectors of distances */
% end
% if relative.biases then
reals ${prefix}row_sums; /* [${stack.count}][${PREFIX}HEADS][distances] of the logits at a distance */
% end
% if score.trains then
char *${prefix}score; /* ${PREFIX}SCORE_SETS sets of score_gradients */
% end
