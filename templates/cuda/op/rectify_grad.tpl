% call("rectify_grad", "all_rows() * " .. columns, x, to)
