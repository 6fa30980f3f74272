% local other = rectified or adds and to or "(const real *)0"
% call("product_backward", rows, inner, columns, dy, weight, other, rectified and "true" or "false", to)
