% local of_layer, of_state = ("[%s]"):format(layer), ("[%s]"):format(index)
% local layer_input = ("%s > 0 ? %s[%s - 1].output : %s"):format(index, name, index, input)
for (int ${index} = 0; ${index} < ${uses}; ${index}++) % if direction == "forward"
for (int ${index} = ${uses} - 1; ${index} >= 0; ${index}--) % else
    % call(name .. "_" .. direction, "list", reads.l and index, reads.p and "&p->" .. name .. of_layer, reads.g and "&g->" .. name .. of_layer, reads.w and "&w", reads.s and "&" .. name .. of_state, reads.x and layer_input)
