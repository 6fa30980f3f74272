% call("add_bias", rows, columns, bias, rectified and "true" or "false", out)
