% local layer_index, state_index = ("[%s]"):format(layer), ("[%s]"):format(index)
% local layer_input = ("%s > 0 ? %s[%s - 1].output : %s"):format(index, name, index, input)
for (int ${index} = 0; ${index} < ${uses}; ${index}++) % if direction == "forward"
for (int ${index} = ${uses} - 1; ${index} >= 0; ${index}--) % else
    % call(name .. "_" .. direction, "list", reads.l and index, reads.p and "&p->" .. name .. layer_index, reads.g and "&g->" .. name .. layer_index, reads.w and "&w", reads.s and "&" .. name .. state_index, reads.x and layer_input)
