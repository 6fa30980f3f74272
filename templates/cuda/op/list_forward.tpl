% -- Lists the launch of a product, with its bias if there is a phase for the bias.
% call("forward", "list", row_count, inner, columns, x, weight, out)
% call("add_bias", "list", bias, rectified, phase, layer) % if phase
