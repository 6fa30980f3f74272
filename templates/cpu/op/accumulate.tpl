% call(routine, tokens, to, from, to)
