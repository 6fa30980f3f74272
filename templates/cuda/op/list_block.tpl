% -- Lists the launches of all repetitions of a block.
% local layer_index = ("[%s]"):format(layer)
% local layer_input = previous_condition and ("%s ? %s.output : %s"):format(previous_condition, previous, input) or input
for (int ${index} = ${first}; ${index} < ${past}; ${index}++) % if direction == "forward"
for (int ${index} = ${past} - 1; ${index} >= ${first_with_gradient}; ${index}--) % else
    % call(name .. "_" .. direction, "list", reads.l and index, reads.p and "&p->" .. name .. layer_index, reads.g and "&g->" .. name .. layer_index, reads.w and "&w", reads.s and "&" .. state, reads.x and layer_input)
