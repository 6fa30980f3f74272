% call(routine, rows, dy, panels, relu, to)
