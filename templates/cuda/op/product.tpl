% call("product_forward", rows, columns, inner, x, weight, bias or "(const real *)0", rectified and "true" or "false", out)
