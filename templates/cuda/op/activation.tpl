% call(routine, rows, x, out)
