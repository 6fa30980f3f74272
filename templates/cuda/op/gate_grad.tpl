% call(routine, "all_rows()", x, dy, to)
