% local backward, rectified, only_positive = order == "COLUMNS", finish == "FINISH_BIAS_RELU", extra == "x"
% local x, out, stride = backward and "dy" or "x", backward and "dx" or "out", backward and k or columns
% local before, after = extra == "other" and "other + " or "", extra == "bias" and " + bias" or ""
% local storing = stores_operand and "true, stored_" .. x or "false, NULL"
% local stores_words = stores_operand and ("; stores %s in stored_%s, in the layout of store_pair"):format(x, x) or ""
/* ${out} = ${before}${x} times weight${backward and " transposed" or ""}${after}${rectified and ", 0 where that is negative" or ""}${only_positive and ", 0 where x is not positive" or ""}${stores_words}. */
% define("NOINLINE void " .. name, "int rows", "const real *" .. x, stores_operand and "real *stored_" .. x, "const real *weight", extra and "const real *" .. extra, "real *" .. out)
    sized_product(${x_rounded}, ${rounded}, rows, ${columns}, ${k}, ${x}, ${storing}, ${order}, weight, ${stride}, ${form}, ${extra or "NULL"}, ${out});
}
