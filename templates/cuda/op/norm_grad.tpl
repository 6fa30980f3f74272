% call(routine, rows, dy, xhat, rstd, scale, dropout and dropout.mask, dropout and dropout.rate, to, dbranch, dscale, doffset)
