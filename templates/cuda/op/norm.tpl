% call(routine, rows, x, scale, offset, xhat, rstd, out)
