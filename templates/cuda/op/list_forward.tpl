% call("forward", "list", row_count, inner, columns, x, weight, out)
% call("add_bias", "list", bias, rectified, phase, layer) % if phase
