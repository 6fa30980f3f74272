% call(routine, tokens, not in_place and dy, keep, xhat, rstd, scale, to, dbranch, dscale, doffset)
