% local backward, rectified, of_positive = order == "COLUMNS", finish == "FINISH_BIAS_RELU", extra == "x"
% local x, out, stride = backward and "dy" or "x", backward and "dx" or "out", backward and k or columns
% local before, after = extra == "other" and "other + " or "", extra == "bias" and " + bias" or ""
/* ${out} = ${before}${x} times weight${backward and " transposed" or ""}${after}${rectified and ", 0 where that is negative" or ""}${of_positive and ", 0 where x is not positive" or ""}${keeps and "; stores " or ""}${keeps and x or ""}${keeps and " in kept in the layout of store_pair" or ""}. */
% define("NOINLINE void " .. name, "int rows", "const real *" .. x, keeps and "real *kept", "const real *weight", extra and "const real *" .. extra, "real *" .. out)
    sized_product(${x_rounded}, ${rounded}, rows, ${columns}, ${k}, ${x}, ${keeps and "true, kept" or "false, NULL"}, ${order}, weight, ${stride}, ${form}, ${extra or "NULL"}, ${out});
}
