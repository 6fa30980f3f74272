% local count = ("(size_t)%sdistance_count(%s)"):format(prefix, attends.lengths)
% if relative.kind == "transformer_xl" then
t->${prefix}codes = take_reals(memory, &used, ${PREFIX}RELATIVE_SETS * ${count} * WIDTH);
% end
% if relative.kind ~= "none" then
% local width = relative.biases and "WIDTH" or PREFIX .. "HEAD_WIDTH"
t->${prefix}rows = take_reals(memory, &used, ${stack.count} * ${count} * ${width});
% end
% if relative.biases then
t->${prefix}row_bias = take_reals(memory, &used, ${stack.count} * ${count} * ${PREFIX}HEADS);
% end
% if score.kind ~= "none" then
t->${prefix}score = memory ? memory + used : (char *)0;
used += ${PREFIX}SCORE_SETS * ${prefix}score_bytes(${attends.lengths});
% if score.trains then
% local sets = attends.end_by_layer and PREFIX .. "SCORE_SETS * " or ""
t->${prefix}scratch = take_reals(memory, &used, ${sets}${prefix}score_scratch(${attends.lengths}));
% end
% end
