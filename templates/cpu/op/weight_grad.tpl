% call(routine, tokens, x, dy, dw, db)
