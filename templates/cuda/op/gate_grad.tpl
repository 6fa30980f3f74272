% call(routine, rows, x, dy, to)
