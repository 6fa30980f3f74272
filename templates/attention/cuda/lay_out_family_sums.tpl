% local count = ("(size_t)%sdistance_count(%s)"):format(prefix, attends.lengths)
% if relative.kind ~= "none" then
% local width = relative.biases and "WIDTH" or ("%sHEADS * %sHEAD_WIDTH"):format(PREFIX, PREFIX)
sums->${prefix}rows = take_reals(memory, used, ${stack.count} * ${count} * ${width});
% end
% if relative.biases then
sums->${prefix}row_sums = take_reals(memory, used, ${stack.count} * ${count} * ${PREFIX}HEADS);
% end
% if score.trains then
sums->${prefix}score = memory ? memory + *used : (char *)0;
*used += ${PREFIX}SCORE_SETS * ${prefix}score_gradient_bytes(${attends.lengths});
% end
