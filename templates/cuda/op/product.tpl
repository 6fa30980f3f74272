% call("product_forward", "all_rows()", columns, inner, x, weight, bias or "(const real *)0", rectified and "true" or "false", out)
