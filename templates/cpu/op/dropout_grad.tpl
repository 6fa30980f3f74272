% call(routine, tokens, dy, keep, to)
