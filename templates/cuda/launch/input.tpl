% call("input_gradient", "list", of_rows, inner, columns, dy, weight, adds and "true" or "false", to)
