% call(routine, "all_rows()", x, out)
