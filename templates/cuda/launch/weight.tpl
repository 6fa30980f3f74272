% call("weight_gradient", "list", inner, columns, x, dy, dweight)
