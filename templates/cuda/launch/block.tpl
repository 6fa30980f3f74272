% local of_layer, of_state = ("[%s]"):format(layer), ("[%s]"):format(index)
% local input = reads and ("%s > 0 ? %s[%s - 1].output : %s"):format(index, name, index, first)
for (int ${index} = 0; ${index} < ${uses}; ${index}++)
    % call(name .. "_forward", "list", index, "&p->" .. name .. of_layer, "&w", "&" .. name .. of_state, input)
