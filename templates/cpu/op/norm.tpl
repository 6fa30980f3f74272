% call(routine, tokens, x, scale, offset, xhat, rstd, out)
