% call("rectify_grad", rows .. " * " .. columns, x, to)
