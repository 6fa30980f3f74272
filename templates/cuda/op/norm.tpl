% call(routine, "all_rows()", x, scale, offset, xhat, rstd, out)
