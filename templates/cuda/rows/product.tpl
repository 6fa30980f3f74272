% local is_backward = order == "COLUMNS"
% local x, out, stride = "x", "out", columns
% if is_backward then x, out, stride = "dy", "dx", k end
% local addend_words = extra == "other" and "other + " or ""
% local bias_words = extra == "bias" and " + bias" or ""
% local relu_words = finish == "FINISH_BIAS_RELU" and ", with 0 in place of negative sums" or ""
% relu_words = extra == "x" and ", with 0 where x is not positive" or relu_words
% local storing_arguments = stores_operand and "true, stored_" .. x or "false, NULL"
% local stores_words = stores_operand and ("; stores %s in stored_%s, in the layout of store_pair"):format(x, x) or ""
/* ${out} = ${addend_words}${x} times weight${is_backward and " transposed" or ""}${bias_words}${relu_words}${stores_words}. */
% define("NOINLINE void " .. name, "int rows", "const real *" .. x, stores_operand and "real *stored_" .. x, "const real *weight", extra and "const real *" .. extra, "real *" .. out)
    sized_product(${x_rounded}, ${rounded}, rows, ${columns}, ${k}, ${x}, ${storing_arguments}, ${order}, weight, ${stride}, ${form}, ${extra or "NULL"}, ${out});
}
