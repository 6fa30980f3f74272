% local adds = device.loops and (first_use and "use < " .. first_use or "false")
% call("weight_gradient", "list", of_rows, inner, columns, x, dy, adds, dweight)
