% local of_layer, of_state = ("[%s]"):format(layer), ("[%s]"):format(index)
% local input = reads and ("%s > 0 ? %s[%s - 1].output : %s"):format(index, name, index, first)
for (int ${index} = ${uses} - 1; ${index} >= 0; ${index}--)
    % call(name .. "_backward", "list", index, "&p->" .. name .. of_layer, "&g->" .. name .. of_layer, "&w", "&" .. name .. of_state, input)
