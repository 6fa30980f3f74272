% call("forward", "list", inner, columns, x, weight, out)
