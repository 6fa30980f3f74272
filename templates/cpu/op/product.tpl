% call(routine, rows, x, panels, bias, out)
