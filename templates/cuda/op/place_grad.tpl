% call(routine, mask, dy, vectors)
