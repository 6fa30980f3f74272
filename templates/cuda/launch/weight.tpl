% local adds = device.loops and (first_use and "use < " .. first_use or "false")
% call("weight_gradient", "list", inner, columns, x, dy, adds, dweight)
