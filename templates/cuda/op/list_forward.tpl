% call("forward", "list", of_rows, inner, columns, x, weight, out)
% if phase then
% call("add_bias", "list", bias, rectified, phase, layer)
% end
