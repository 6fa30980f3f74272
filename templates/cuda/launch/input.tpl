% call("input_gradient", "list", inner, columns, dy, weight, adds and "true" or "false", to)
