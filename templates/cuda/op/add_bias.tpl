% call("add_bias", "all_rows()", columns, bias, rectified and "true" or "false", out)
