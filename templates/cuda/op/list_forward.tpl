% call("forward", "list", of_rows, inner, columns, x, weight, out)
% call("add_bias", "list", bias, rectified, phase, layer) % if phase
