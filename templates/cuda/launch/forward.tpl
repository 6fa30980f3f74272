% call("forward", "list", of_rows, inner, columns, x, weight, out)
% if bias then
% call("add_bias", "list", bias, rectified and "true" or "false", phase, layer)
% end
